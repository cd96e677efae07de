"""The history of reader groups that the reader board and the checkpoint timeline share.

These two views import this folder; it imports the observers' folds of groups.
"""
