"""Provide byte streams: a stream of one segment as a file that grows at its end.

`stream` imports this folder. It imports connections, controller and reading.
"""
