"""Rules about the epochs of a stream: what they cover, and which segments succeed which (pravega.md A4, A5).

`Epochs` answers the same questions for the running store. The first two rules compute them again from the
records alone, in another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pravega_lab.protocol.names import SegmentRange, epoch_of, number_of

from ..metadata.epochs import EpochRecord, Epochs
from .facts import Facts, StreamFacts, in_order
from .findings import Finding, damage


def epochs_follow_each_other(facts: Facts) -> Iterator[Finding]:
    """Epochs are numbered from 0 without a gap and later ones are younger.

    Each seals segments of the epoch before it and creates segments that carry its number.
    """
    rule = "epochs follow each other"
    for stream in facts.streams.values():
        for what in _order_of(stream.epoch_records, facts.last_numbers.get((stream.scope, stream.name), -1)):
            yield damage(rule, stream.key, what)


def _order_of(records: Sequence[EpochRecord], used: int) -> Iterator[str]:
    if [record.epoch for record in records] != list(range(len(records))):
        yield f"Its epochs are {[record.epoch for record in records]}; they must be counted from 0."
        return
    for earlier, later in pairwise(records):
        if later.created_ms <= earlier.created_ms:
            yield f"Epoch {later.epoch} is not younger than epoch {earlier.epoch}."
    active: dict[int, None] = {}
    known: dict[int, None] = {}
    for record in records:
        for segment_id in record.sealed:
            if segment_id not in active:
                yield f"Epoch {record.epoch} seals segment {segment_id}, which was not active before it."
            active.pop(segment_id, None)
        for created in record.created:
            if epoch_of(created.segment_id) != record.epoch or created.segment_id in known:
                yield f"Epoch {record.epoch} creates segment {created.segment_id}, whose id is not free."
            if not record.epoch and number_of(created.segment_id) <= used:
                yield f"Segment {created.segment_id} has a number that a deleted stream of this name used."
            active[created.segment_id] = known[created.segment_id] = None
        if not 0 <= record.reference_epoch <= record.epoch:
            yield f"Epoch {record.epoch} refers to epoch {record.reference_epoch}, which is later."


def epochs_cover_the_key_space(facts: Facts) -> Iterator[Finding]:
    """The segments of each epoch own every key exactly once."""
    rule = "epochs cover the key space"
    for stream in facts.streams.values():
        active: dict[int, SegmentRange] = {}
        for record in stream.epoch_records:
            for segment_id in record.sealed:
                active.pop(segment_id, None)
            active |= {created.segment_id: created for created in record.created}
            for what in _gaps(in_order(tuple(active.values()))):
                yield damage(rule, stream.key, f"In epoch {record.epoch} {what}")


def _gaps(segments: Sequence[SegmentRange]) -> Iterator[str]:
    reached = 0.0
    for segment in segments:
        if segment.low != reached or not segment.low < segment.high:
            what = "belong to no segment" if segment.low > reached else "belong to two segments"
            yield f"the keys between {reached} and {segment.low} {what}."
        reached = segment.high
    if reached != 1.0:
        yield f"the keys from {reached} to 1.0 belong to no segment."


def successors_agree(facts: Facts) -> Iterator[Finding]:
    """A successor names the segment among its predecessors, and the reverse; each begins where it must."""
    for stream, epochs in facts.whole_streams():
        for segment_id in epochs.ids:
            yield from _relatives(stream, epochs, segment_id)


def _relatives(stream: StreamFacts, epochs: Epochs, segment_id: int) -> Iterator[Finding]:
    rule = "successors and predecessors agree"
    after = epochs.successors(segment_id)
    for successor in after:
        if segment_id not in epochs.predecessors(successor.segment.segment_id):
            what = f"Segment {segment_id} has the successor {successor.segment.segment_id}, of which it is no"
            yield damage(rule, stream.key, f"{what} predecessor.")
    if not after and not epochs.is_active(segment_id):
        yield damage(rule, stream.key, f"Segment {segment_id} was replaced, and has no successor.")
    for before in epochs.predecessors(segment_id):
        if segment_id not in [s.segment.segment_id for s in epochs.successors(before)]:
            what = f"Segment {segment_id} has the predecessor {before}, of which it is no successor."
            yield damage(rule, stream.key, what)
