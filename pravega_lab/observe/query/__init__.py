"""Observing a Spark streaming query: its observer, the places to watch it, and the fold of its batches.

Views and explanations import the fold; only the observer communicates with Spark or reads files.
"""
