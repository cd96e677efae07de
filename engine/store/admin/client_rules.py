"""Rules about what clients left in the metadata: scopes, transactions, reader groups, positions and times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import (
    MARK_PREFIX,
    READER_GROUP_PREFIX,
    kv_table_segment_name,
    number_of,
    segment_id,
    transaction_segment_name,
)

from ..metadata import cuts
from ..metadata import records as rec
from ..metadata.epochs import Epochs
from ..metadata.states import TransactionState
from .facts import Facts, StreamFacts
from .findings import CLIENTS, Finding, damage, note

_IN_USE = (TransactionState.OPEN, TransactionState.COMMITTING)
_LOW_64 = (1 << 64) - 1


def records_have_owners(facts: Facts) -> Iterator[Finding]:
    """Each stream and group has its scope, and each record of a stream has its stream with its epochs."""
    rule = "records have owners"
    for scope, group in facts.groups:
        if scope not in facts.scopes:
            yield damage(rule, f"{rec.PREFIX}group/{scope}/{group}", f"There is no scope {scope!r}.")
    for stream in facts.streams.values():
        if stream.scope not in facts.scopes:
            yield damage(rule, stream.key, f"There is no scope {stream.scope!r}.")
        if stream.record is None:
            yield damage(rule, stream.key, "The stream has records, and none that says what it is.")
        elif not stream.epoch_records:
            yield damage(rule, stream.key, "The stream has no epoch.")
        elif not stream.name.startswith("_") and not facts.streams.get(
            (stream.scope, MARK_PREFIX + stream.name)
        ):
            yield note(rule, stream.key, "The stream has no mark stream, so it gets no watermarks.")


def transactions_are_whole(facts: Facts) -> Iterator[Finding]:
    """A transaction in use has all its segments, and one that ended has none. No transaction of a sealed
    stream is in use.

    The order of commits is unique, and ids come from counters that were reserved.
    """
    rule = "transactions are whole"
    for stream, epochs in facts.whole_streams():
        orders: dict[int, UUID] = {}
        for record in stream.transactions:
            for what in _faults_of(facts, stream, epochs, record):
                yield damage(rule, record.key(), what)
            if record.order and record.order in orders:
                what = (
                    f"Its place in the order of commits, {record.order}, is that of {orders[record.order]}."
                )
                yield damage(rule, record.key(), what)
            orders[record.order] = UUID(int=record.txn_id)


def _faults_of(
    facts: Facts, stream: StreamFacts, epochs: Epochs, record: rec.TransactionRecord
) -> Iterator[str]:
    if record.epoch >= len(epochs):
        yield f"It was begun in epoch {record.epoch}, and its stream has {len(epochs)} epochs."
        return
    if not 0 < record.txn_id & _LOW_64 < facts.counters_reserved:
        yield f"Its counter is {record.txn_id & _LOW_64}, and {facts.counters_reserved} are reserved."
    if (record.order > 0) != (record.state in (TransactionState.COMMITTING, TransactionState.COMMITTED)):
        yield f"It is {record.state.name}, and its place in the order of commits is {record.order}."
    if stream.is_sealed and record.state in _IN_USE:
        yield f"It is {record.state.name}, and its stream is sealed."
    missing, left = [], []
    for name in _own_segments(stream, epochs, record):
        found = facts.segments.get(name)
        if record.state in _IN_USE and found is None:
            missing.append(name)
        elif record.state not in _IN_USE and found is not None:
            left.append(name)
    if missing:
        yield f"It is {record.state.name}, and these segments of it do not exist: {', '.join(missing)}."
    if left:
        yield f"It is {record.state.name}, and these segments of it still exist: {', '.join(left)}."


def _own_segments(stream: StreamFacts, epochs: Epochs, record: rec.TransactionRecord) -> list[str]:
    parents = [segment_id(record.epoch, number_of(s.segment_id)) for s in epochs.epoch(record.epoch).segments]
    txn = UUID(int=record.txn_id)
    return [transaction_segment_name(stream.segment(parent), txn) for parent in parents]


def tables_have_their_segments(facts: Facts) -> Iterator[Finding]:
    """A key-value table has its scope and all its segments, which are tables with keys of its length."""
    rule = "tables have their segments"
    for record, config in facts.tables.items():
        if record.scope not in facts.scopes:
            yield damage(rule, record.key(), f"There is no scope {record.scope!r}.")
        key_length = config.primaryKeyLength + config.secondaryKeyLength
        for number in range(record.first_number, record.first_number + config.partitionCount):
            name = kv_table_segment_name(record.scope, record.table, number)
            found = facts.segments.get(name)
            if found is None:
                yield damage(rule, name, "The table has this segment, and it does not exist.", CLIENTS)
            elif found.table is None or found.table.key_length != key_length:
                yield damage(rule, name, f"The segment is no table with keys of {key_length} bytes.", CLIENTS)


def groups_name_known_segments(facts: Facts) -> Iterator[Finding]:
    """A reader group has its state stream. The cuts where it begins and ends name segments of its streams."""
    rule = "groups name known segments"
    for (scope, group), config in facts.groups.items():
        key = f"{rec.PREFIX}group/{scope}/{group}"
        state = facts.streams.get((scope, READER_GROUP_PREFIX + group))
        if state is None or state.record is None:
            yield damage(rule, key, "The group has no state stream, so its readers cannot agree on anything.")
        for cut in [*config.startingStreamCuts, *config.endingStreamCuts]:
            yield from _cut_of_group(facts, key, cut)


def _cut_of_group(facts: Facts, key: str, cut: pb.StreamCut) -> Iterator[Finding]:
    rule = "groups name known segments"
    info = cut.streamInfo
    stream = facts.streams.get((info.scope, info.stream))
    if stream is None or stream.epochs is None:
        yield note(rule, key, f"The group reads {info.scope}/{info.stream}, which does not exist (any more).")
        return
    unknown = [number for number in cut.cut if stream.epochs.segment(number) is None]
    if unknown:  # the stream may have been deleted and created again
        what = f"The group names the segments {unknown} of {info.scope}/{info.stream}, which never had them."
        yield note(rule, key, what)


def subscriptions_agree(facts: Facts) -> Iterator[Finding]:
    """A subscriber of a stream is a reader group that exists and reads it. Its cut is one of the stream."""
    rule = "subscriptions agree"
    for stream, epochs in facts.whole_streams():
        for record in stream.subscribers:
            scope, _, group = record.subscriber.partition("/")
            config = facts.groups.get((scope, group))
            if config is None:
                yield damage(rule, record.key(), f"There is no reader group {record.subscriber}.")
                continue
            names = [(cut.streamInfo.scope, cut.streamInfo.stream) for cut in config.startingStreamCuts]
            if not config.retentionType or (stream.scope, stream.name) not in names:
                yield damage(rule, record.key(), f"The group {record.subscriber} does not subscribe to it.")
            if record.cut and not cuts.is_valid(epochs, record.cut):
                yield damage(rule, record.key(), f"{dict(record.cut)} is no cut of the stream.")


def positions_are_known(facts: Facts) -> Iterator[Finding]:
    """The positions of writers, recorded tails and the last watermark name segments of the stream."""
    rule = "positions are known"
    for stream, epochs in facts.whole_streams():
        places = [(record.key(), record.position) for record in stream.writers]
        places += [(record.key(), record.cut) for record in stream.retained]
        if stream.watermark is not None:
            places.append((stream.watermark.key(), stream.watermark.cut))
        for key, place in places:
            for what in _unknown(epochs, place):
                yield damage(rule, key, what)


def _unknown(epochs: Epochs, place: Mapping[int, int]) -> Iterator[str]:
    unknown = [number for number in place if epochs.segment(number) is None]
    if unknown:
        yield f"It names the segments {unknown}, which the stream never had."
