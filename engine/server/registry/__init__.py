"""The schema registry of a store: its REST port, and its records in the log of the store.

`engine.registry` decides what is answered; nothing is decided here but who may call.
"""
