"""A schema registry as a pure core: requests in, answers and records to keep out.

It answers as the released Pravega schema registry 0.6.0 does (schema-registry.md A1 to A4), apart from what
docs/differences.md lists. It does no I/O: `engine.server.registry` serves it over HTTP and keeps its records
in the store. It imports only the protocol.
"""
