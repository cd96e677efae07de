"""The engine's sources that read through a reader group: forms (a), (b1), (b2) and (b3).

`connector.flow` exports them. They import the client's reader groups and the engine's sources.
"""
