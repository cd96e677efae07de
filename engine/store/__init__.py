"""The embedded Pravega without its network: segments and tables over one log, and the controller above them.

It is synchronous, and receives time, random ids and the disk as arguments. Its parts are layers. Each
imports only layers that are above it in this table:

==============  ===========================================================================================
errors          what the storage refuses
log             the bytes of the log, and the disk under them
storage         segments, tables and records: checked before the sync, visible after it
tiers           what moves to tier 2, in which chunks, and what may be deleted then
metadata        the controller's records, the catalog made of them, epochs and stream cuts
security        users, permissions and tokens: who may do what
transactions    the calls on transactions, their leases and commits
streams         the calls on scopes, streams, segments and reader groups; watermarks
retention       stream cuts recorded by time, and truncation at one of them
autoscaling     the rates of segments, and the scales that follow from them
controller      the table of all calls, and what happens by time alone
admin           rules that a sound store keeps, listings, the plan of a compaction
==============  ===========================================================================================

An event takes the path `engine.server` -> storage -> log. ``storage.recovery.open_storage`` opens what a disk
holds.
"""
