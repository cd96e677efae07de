"""Observing a stream from outside: its observer, what its tracker decides, and the fold of its segments.

Views and explanations import the fold; only the observer communicates with a store.
"""
