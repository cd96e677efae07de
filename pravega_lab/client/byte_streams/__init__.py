"""Provide byte streams: a stream of one segment as a file that grows at its end.

`stream` and the synchronous client import this folder. It imports connections and reading.
"""
