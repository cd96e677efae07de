"""Splits and merges of a stream, counted from its epochs by public calls only."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from pravega_lab.client import Stream
from pravega_lab.protocol.names import epoch_of


@dataclass(frozen=True)
class Scales:
    """How many splits and merges there were between two epochs."""

    splits: int
    merges: int


def current_epoch(stream: Stream) -> int:
    """Return the active epoch: every scale creates a segment, and a segment's id holds its epoch
    (pravega.md A2).
    """
    return max(epoch_of(segment.segment_id) for segment in stream.segments())


def scales_between(stream: Stream, first_epoch: int, last_epoch: int) -> Scales:
    """Count the scales that led from ``first_epoch`` to ``last_epoch``."""
    counts = [len(stream.epoch_segments(epoch)) for epoch in range(first_epoch, last_epoch + 1)]
    pairs = list(itertools.pairwise(counts))
    return Scales(splits=sum(b > a for a, b in pairs), merges=sum(b < a for a, b in pairs))
