"""Journals of typed observations, and what fills them: observers of streams and of streaming queries.

Imports neither Spark nor Jupyter; the client is imported when something is observed.
"""

from __future__ import annotations

from pravega_lab.observe.batch_fold import fold_batches
from pravega_lab.observe.folds import fold_segments
from pravega_lab.observe.journal import Gap, Journal

__all__ = ["Gap", "Journal", "fold_batches", "fold_segments"]
