"""Rules about segments: those of the metadata exist, those that exist belong to something, and every byte of
them has a place in the log.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from uuid import UUID

from pravega_lab.protocol.names import TABLE_SUFFIX, is_transient, parent_of, transaction_id_of

from ..metadata import cuts
from ..metadata.epochs import Epochs
from ..metadata.states import TransactionState
from ..storage.segment import Segment
from ..storage.table import ENTRY_HEADER_BYTES
from .facts import Facts, StreamFacts
from .findings import CLIENTS, Finding, damage, note

_OPEN_END = (
    "The stream begins at the end of this segment, which is not sealed: readers from the head skip what is"
    " written to it."
)
_REPLACE_HEAD = "An earlier release accepted that cut. Truncate the stream at an offset of this segment."
_IN_USE = (TransactionState.OPEN, TransactionState.COMMITTING)


def live_ids(stream: StreamFacts, epochs: Epochs) -> list[int]:
    """Return the ids of the segments of a stream that no truncation deleted, oldest first."""
    if stream.truncation is None:
        return list(epochs.ids)
    cut = stream.truncation.cut
    older = epochs.ids[: bisect_right(epochs.ids, max(cut, default=-1))]
    gone = dict.fromkeys(cuts.before(epochs, cut, older))
    return [segment_id for segment_id in epochs.ids if segment_id not in gone]


def segments_of_streams_exist(facts: Facts) -> Iterator[Finding]:
    """The segments of a stream that were not truncated exist. Those that were replaced are sealed, and the
    others are open unless the stream is sealed.
    """
    rule = "segments of streams exist"
    for stream, epochs in facts.whole_streams():
        for segment_id in live_ids(stream, epochs):
            name = stream.segment(segment_id)
            found = facts.segments.get(name)
            must_be_sealed = stream.is_sealed or not epochs.is_active(segment_id)
            if found is None:
                yield damage(rule, name, "The stream has this segment, and it does not exist.", CLIENTS)
            elif found.table is not None:
                yield damage(rule, name, "The stream has this segment, and it is a table.")
            elif found.is_sealed != must_be_sealed:
                state = "open" if must_be_sealed else "sealed"
                yield damage(rule, name, f"The segment is {state}, and its stream says otherwise.", CLIENTS)


def segments_belong_to_something(facts: Facts) -> Iterator[Finding]:
    """A stream segment belongs to a stream that has it. A transaction whose segments exist is in use.

    A transient segment belongs to its writer. It may outlive its parent until the store deletes it.
    """
    rule = "segments belong to something"
    live = {key: set(live_ids(stream, epochs)) for key, (stream, epochs) in _by_key(facts).items()}
    open_ids = {
        UUID(int=record.txn_id)
        for stream in facts.streams.values()
        for record in stream.transactions
        if record.state in _IN_USE
    }
    for name, segment in facts.segments.items():
        transaction = transaction_id_of(name)
        if transaction is not None and transaction not in open_ids:
            yield damage(rule, name, "The segment belongs to a transaction that is not open.")
        owner = facts.owner_of(parent_of(name) or name)
        if segment.table is not None or owner is None or TABLE_SUFFIX in name:
            continue
        stream, segment_id = owner
        if stream is None:
            if transaction is None:
                yield note(rule, name, "No stream has this segment. A client may have created it.")
        elif transaction is not None or is_transient(name):
            continue
        elif segment_id not in live.get((stream.scope, stream.name), (segment_id,)):
            yield damage(rule, name, "The segment exists, and its stream has truncated it or never had it.")


def _by_key(facts: Facts) -> dict[tuple[str, str], tuple[StreamFacts, Epochs]]:
    return {(stream.scope, stream.name): (stream, epochs) for stream, epochs in facts.whole_streams()}


def truncations_hold(facts: Facts) -> Iterator[Finding]:
    """A stream begins at a valid cut, and its segments are truncated at least up to there."""
    rule = "truncations hold"
    for stream, epochs in facts.whole_streams():
        if stream.truncation is None:
            continue
        cut = stream.truncation.cut
        if not cuts.is_valid(epochs, cut):
            yield damage(rule, stream.key, f"It was truncated at {dict(cut)}, which is no cut of it.")
            continue
        for segment_id, offset in cuts.resolved(epochs, cut).items():
            found = facts.segments.get(stream.segment(segment_id))
            if found is None:
                continue
            if offset < 0:
                if not found.is_sealed:
                    yield note(rule, found.name, _OPEN_END, _REPLACE_HEAD)
            elif offset > found.start:
                what = f"It begins at {found.start}, and its stream was truncated at {offset}."
                yield damage(rule, found.name, what)


def lengths_add_up(facts: Facts) -> Iterator[Finding]:
    """Offsets are in order, ids are unique, and the places in the log hold each byte exactly once."""
    rule = "lengths add up"
    ids: dict[int, str] = {}
    for name, segment in facts.segments.items():
        if not 0 <= segment.start <= segment.length or segment.event_count < 0:
            what = f"It begins at {segment.start} and ends at {segment.length}"
            yield damage(rule, name, f"{what}, with {segment.event_count} events.")
        if segment.id in ids or not 0 < segment.id < facts.next_id:
            yield damage(rule, name, f"Its number in the log, {segment.id}, is not its own.")
        ids[segment.id] = name
        if segment.table is None:
            for what in _places(segment):
                yield damage(rule, name, what)


def _places(segment: Segment) -> Iterator[str]:
    extents = segment.extents
    reached = segment.start
    for index, (offset, length) in enumerate(zip(extents.offsets, extents.lengths, strict=True)):
        if length <= 0 or (offset > reached if not index else offset != reached):
            yield f"The log has no place for its bytes from {reached} to {offset}."
        reached = offset + length
    if reached != segment.length:
        yield f"The log has places for its bytes up to {reached}, and it ends at {segment.length}."


def tables_are_consistent(facts: Facts) -> Iterator[Finding]:
    """Each key of a table has one version, below the length of the table. Entries do not overlap."""
    rule = "tables are consistent"
    for name, segment in facts.segments.items():
        table = segment.table
        if table is None:
            continue
        if table.by_version != {value.version: key for key, value in table.values.items()}:
            yield damage(rule, name, "Its versions and its keys do not agree.")
        reached = segment.start
        for entry in table.entries_from(0, len(table.values)):
            if entry.version < reached:
                yield damage(rule, name, f"The entry with version {entry.version} overlaps an earlier entry.")
            reached = entry.version + ENTRY_HEADER_BYTES + len(entry.key) + len(entry.value)
        if reached > segment.length:
            yield damage(rule, name, f"Its entries end at {reached}, and it ends at {segment.length}.")
        if table.key_length and any(len(key) != table.key_length for key in table.values):
            yield damage(rule, name, f"A key does not have the length {table.key_length}.")
