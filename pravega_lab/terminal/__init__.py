"""``pravega-lab watch``: a cluster or a running reader group in a terminal. Looks, and takes no part."""
