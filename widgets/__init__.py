"""Live views of journals, for JupyterLab, for a page that stands alone, and as static pictures.

They read journals (`pravega_lab.observe`) and nothing else: neither a store nor Spark.
"""

from __future__ import annotations

from pravega_lab.widgets.board import Board, show
from pravega_lab.widgets.checkpoint_timeline import CheckpointTimeline
from pravega_lab.widgets.job_graph import JobGraph
from pravega_lab.widgets.ledger import LedgerView
from pravega_lab.widgets.query_timeline import QueryTimeline
from pravega_lab.widgets.reader_board import ReaderBoard
from pravega_lab.widgets.segment_map import SegmentMap
from pravega_lab.widgets.view import View

__all__ = [
    "Board",
    "CheckpointTimeline",
    "JobGraph",
    "LedgerView",
    "QueryTimeline",
    "ReaderBoard",
    "SegmentMap",
    "View",
    "show",
]
