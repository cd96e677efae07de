"""The schema registry of a store: its REST port, and its records in the log of the store.

`engine.registry` decides what is answered; nothing is decided here but who may call. `standalone` imports
this folder, which imports `engine.registry`, the store, and access control.
"""
