"""Tier 2 at run time: the loop that moves segments there, reads from it, and the file systems of fsspec.

`engine.store.tiers` decides. This folder waits: it has the only threads and the only file system of tier 2.
The server, its simulation and `terminal.admin` import it.
"""
