"""The storage: segments, tables and records over one log, checked before the sync and visible after it.

The controller's parts and the server import this folder; it imports `log`.
"""
