"""The exactly-once ledger: what was written, acknowledged, read and committed, and how often.

The lab and the view of the ledger import this folder; it imports journals and the client.
"""
