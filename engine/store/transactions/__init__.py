"""Transactions: the controller's calls on them, their leases, and how a commit enters its stream.

Streams and the controller import this folder; it imports `metadata` and `log`.
"""
