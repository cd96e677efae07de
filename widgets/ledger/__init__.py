"""The exactly-once ledger's view, and static picture.

`widgets` publishes it; it imports the ledger's fold, `widgets.live` and `widgets.svg`.
"""
