"""The engine's sources that read segments themselves: forms (c), (d) and the bounded read (e).

`connector.flow` exports them. They import the client's readers of segments and the engine's sources.
"""
