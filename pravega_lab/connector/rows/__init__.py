"""Rows in events: how columns become the bytes of an event, and events become columns again, as Arrow arrays.

Spark's source and sink, and tables, import this package. It imports the protocol and the client of the schema
registry, and pyarrow when it is used.
"""
