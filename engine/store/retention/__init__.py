"""Retention: stream cuts that are recorded by time, and truncation at one of them (pravega.md A7).

``choice`` decides where a stream is truncated, ``lower_bound`` what its subscribers still need, and
``retention`` does both for each stream that has a policy. The controller imports this folder; it imports
`streams`, `metadata` and `storage`.
"""
