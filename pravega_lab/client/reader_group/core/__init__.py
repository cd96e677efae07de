"""Decide what a reader group does: shared state, assignment, checkpoints and the steps of one reader.

The asynchronous readers and the observers import this folder. It does no I/O and reads no clock.
"""
