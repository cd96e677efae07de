"""What keeps one client from stalling the others: limits, their options, and the queues that enforce them.

The server, the lab and the tests import this folder; of the store it imports only the fields of log lines.
"""
