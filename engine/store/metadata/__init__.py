"""What the controller knows: records in the log, the catalog in memory, epochs and stream cuts.

Transactions, streams, autoscaling and the controller import this folder; it imports `storage` and `log`.
"""
