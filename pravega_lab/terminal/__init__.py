"""``pravega-lab watch`` shows a cluster or a reader group in a terminal; ``doctor`` checks this machine.

The command line imports this folder; it imports `observe` and the client, and `doctor` the Spark connector.
"""
