"""What each serialization format demands of a schema, and when two schemas are the same.

`engine.registry` imports this folder, which imports only the protocol and the errors.
"""
