"""Observing a job of the engine: its observer, fold, rows and words.

Views and explanations import the fold; the observer is passed to the job by the caller.
"""
