"""Events as frames of bytes: routing, framing and decoding, in pure Python, in numpy, and compiled by numba.

`client.writing` and `client.reading` import this folder; it imports the protocol only.
"""
