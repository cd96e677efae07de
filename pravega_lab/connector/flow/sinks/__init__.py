"""The engine's sinks that write to streams: form (f), with and without transactions.

`connector.flow` exports them. They import the client's writers and the engine's sinks.
"""
