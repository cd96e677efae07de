"""A subtask: mailbox, input, channels, chain of operators and lifecycle.

The job master and the cluster import this folder; it imports operators, sources, state and checkpoints.
"""
