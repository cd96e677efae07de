"""Checkpoints: the coordinator that decides, its effects, what a checkpoint stores, and where.

The job master and the tasks import this folder; it starts nothing and waits for nothing.
"""
