"""Live views of journals, for JupyterLab, for exported pages, and as static pictures.

They read journals (`pravega_lab.observe`) and nothing else: neither a store nor Spark.
"""

from __future__ import annotations

from pravega_lab.errors import require

require("anywidget")  # before the imports below, so that the error says what to install

from .checkpoint_timeline.view import CheckpointTimeline  # noqa: E402
from .job_graph.view import JobGraph  # noqa: E402
from .ledger.view import LedgerView  # noqa: E402
from .live.board import Board, show  # noqa: E402
from .live.view import View  # noqa: E402
from .query_timeline.view import QueryTimeline  # noqa: E402
from .reader_board.view import ReaderBoard  # noqa: E402
from .segment_map.view import SegmentMap  # noqa: E402

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
