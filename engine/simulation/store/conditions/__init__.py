"""The scenario ``conditions``: programs that make the same change under the same condition, and planted bugs.

The scenarios and checkers of the folder above import this folder.
"""
