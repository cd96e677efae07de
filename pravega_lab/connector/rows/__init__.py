"""Rows in events: how columns become the bytes of an event, and events become columns again, as Arrow arrays.

Spark's source and sink use this package. It imports `pravega_lab.errors` and `protocol`, and pyarrow when it
is used.
"""
