"""``pravega-lab watch``: a cluster or a running reader group in a terminal, only by looking at it.

The command line imports this folder; it imports `observe` and the client.
"""
