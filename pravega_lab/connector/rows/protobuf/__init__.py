"""Rows as messages of Protocol Buffers, by the library `protobuf` and a descriptor that the user gives.

`descriptors` finds the message, `arrow_types` says which columns it has, and `protobuf_rows` is the format.
`connector.rows`, its registry format and Spark's source import this folder.
"""
