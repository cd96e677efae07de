"""Decides whether a stream may scale as requested: the checks of pravega.md A5, in their order.

Ranges are compared by exact equality of doubles, as upstream does: the client sends back what it received.
"""

from __future__ import annotations

from collections.abc import Sequence

from pravega_lab.errors import ScaleRefusedError
from pravega_lab.protocol.hashing import Range, joined
from pravega_lab.protocol.names import SegmentRange

from ..metadata.epochs import Epochs


class ScalePreconditionError(ScaleRefusedError):
    """Raised when the present state of the stream forbids the scale.

    The call then returns PRECONDITION_FAILED instead of FAILURE.
    """


def check_scale(epochs: Epochs, seal: Sequence[int], bounds: Sequence[Range], segments_min: int) -> None:
    """Check rules 2 to 5 of pravega.md A5. Return nothing if the scale is legal.

    Raises:
        ScalePreconditionError: A segment is not active, or too few would be left.
        ScaleRefusedError: The ranges are malformed, or differ from those of the sealed segments.
    """
    _check_active(epochs, seal)
    _check_bounds(bounds)
    sealed = [s for i in seal if (s := epochs.segment(i)) is not None]
    _check_same_keys(sealed, bounds)
    left = len(epochs.active.segments) - len(seal) + len(bounds)
    if left < segments_min:
        raise ScalePreconditionError(
            f"{left} segments would be left; the stream's policy asks for {segments_min}"
        )


def _check_active(epochs: Epochs, seal: Sequence[int]) -> None:
    if not seal:
        raise ScaleRefusedError("no segment to seal is named; name the segments that the new ranges replace")
    if len(dict.fromkeys(seal)) != len(seal):
        raise ScaleRefusedError(f"a segment to seal is named twice: {list(seal)}")
    for segment_id in seal:
        if not epochs.is_active(segment_id):
            raise ScalePreconditionError(f"segment {segment_id} is not active in epoch {epochs.active.epoch}")


def _check_bounds(bounds: Sequence[Range]) -> None:
    for low, high in bounds:
        if not low < high:
            raise ScaleRefusedError(f"({low}, {high}] is not a range of keys: it must end above its start")


def _check_same_keys(sealed: Sequence[SegmentRange], bounds: Sequence[Range]) -> None:
    before = joined((s.low, s.high) for s in sealed)
    after = joined(bounds)
    if before != after:
        raise ScaleRefusedError(
            f"the new ranges cover {after}, the segments to seal {before}; they must be equal"
        )
