"""Drawings made once for a lesson: lines, sequences, shares and cuts.

Notebooks and tutorials import this folder; it imports `widgets.svg`.
"""
