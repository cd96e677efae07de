"""The journal: typed observations in order, in memory, in a spill file, and in a recording.

Every observer, fold and view imports this folder. It imports nothing of the other folders of `observe`;
`pravega_lab.observe` gives `Journal` the function that explains it.
"""
