"""Events as frames of bytes: routing, framing and decoding, in pure Python, in numpy, and compiled by numba.

`client.writing`, `client.reading` and Spark's workers import this folder; it imports the protocol and values
of the client.
"""
