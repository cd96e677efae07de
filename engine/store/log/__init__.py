"""The bytes of the store's log: operations, groups and files, and the disk under them.

The storage and its recovery import this folder; of the store it imports only the errors.
"""
