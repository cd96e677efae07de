"""The scenarios ``mounts``, ``full-tier`` and ``copies``, and bugs planted against those of tier 2.

`scenarios`, in the folder above, imports this folder.
"""
