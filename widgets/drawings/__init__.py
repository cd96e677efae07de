"""Drawings made once for a lesson: lines, sequences, shares and cuts.

Notebooks and tutorials import this folder; it imports `widgets.svg`.
"""

from __future__ import annotations

from .line_figure import LineFigure
from .line_picture import Line, Mark, line_picture
from .sequence_picture import SequenceStep, sequence_picture
from .share_picture import Share, share_picture
from .span_picture import Span, span_picture

__all__ = [
    "Line",
    "LineFigure",
    "Mark",
    "SequenceStep",
    "Share",
    "Span",
    "line_picture",
    "sequence_picture",
    "share_picture",
    "span_picture",
]
