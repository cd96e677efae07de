"""Observing a reader group through its state log: observer, tracker, fold, rows and words.

Views and explanations import the fold; only the observer communicates with a store.
"""
