"""Live views of journals, for JupyterLab, for exported pages, and as static pictures.

They read journals (`pravega_lab.observe`) and nothing else: neither a store nor Spark. The lab, the demo,
the tutorials and user programs import this package.
"""

from __future__ import annotations

from .boards.board import Board, show
from .checkpoint_timeline.view import CheckpointTimeline
from .job_graph.view import JobGraph
from .ledger.view import LedgerView
from .live.view import View
from .query_timeline.view import QueryTimeline
from .reader_board.view import ReaderBoard
from .segment_map.view import SegmentMap

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
