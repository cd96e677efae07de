"""Tier 2: when segments move there and in which chunks, when a snapshot follows, and what may be deleted.

The path of a byte::

    log file ---- chunk written under a new name ---- record in the log (MoveToTier) ---- read from the chunk
                                                                  |
                 snapshot of the state in tier 2 ---- log files before it, and chunks that died, deleted

Each step is durable before the next one begins, and each can be repeated. A crash leaves a chunk that no
record names, which the next sweep deletes, or a file that the next snapshot frees. No byte is lost or
doubled, because the record in the log alone decides from where a byte is read.

The loop, the threads and the file system are in `engine.server.tiers`. This folder decides, and imports
`storage`.
"""
