"""The network front of the store: wire commands, the controller over gRPC, and the process around both.

The lab, the fixtures and the simulation import this folder; it imports `engine.store` and the protocol.
Inside, each module imports only modules further left: security, segment_store, handlers, commands (appends,
reads, segments, tables), dispatch, connection, runner, monitoring, standalone.
"""
