"""What `pravega-lab admin` decides: rules that a sound store keeps, listings, the plan of a compaction.

It reads a store that `storage.recovery.open_storage` returned, and changes nothing. The simulation and
`pravega_lab.terminal.admin` import this folder, which is above all other parts of the store. It imports
`storage`, `metadata` and `log`.
"""
