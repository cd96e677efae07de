"""Rows for `list` and `inspect`: streams, reader groups, segments and files, as dictionaries."""

from __future__ import annotations

from collections.abc import Iterator

from pravega_lab.errors import NotFoundError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import is_transient, transaction_id_of

from ..log.disk import Disk
from ..log.format import file_id_of, snapshot_sequence_of
from ..metadata.states import TransactionState
from ..storage.segment import Segment
from ..storage.storage import Storage
from .facts import Facts, StreamFacts
from .segment_rules import live_ids

Row = dict[str, object]


def stream_rows(storage: Storage) -> list[Row]:
    """Return a row for each stream, internal ones included, by name.

    Columns: scope, stream, state, segments (active ones), epochs, bytes and events that can be read, bytes in
    the log and in tier 2, open transactions, scaling, retention. Bytes that were truncated inside a chunk or
    a group may still be in a tier.
    """
    facts = Facts(storage)
    return [_stream_row(facts, facts.streams[key]) for key in sorted(facts.streams)]


def _stream_row(facts: Facts, stream: StreamFacts) -> Row:
    live = live_ids(stream, stream.epochs) if stream.epochs else []
    found = [segment for i in live if (segment := facts.segments.get(stream.segment(i)))]
    config = pb.StreamConfig.FromString(stream.record.config) if stream.record else pb.StreamConfig()
    scaling, retention = config.scalingPolicy, config.retentionPolicy
    return {
        "scope": stream.scope,
        "stream": stream.name,
        "state": stream.record.state.name if stream.record else None,
        "segments": len(stream.epochs.active.segments) if stream.epochs else None,
        "epochs": len(stream.epoch_records),
        "bytes": sum(segment.length - segment.start for segment in found),
        "events_written": sum(segment.event_count for segment in found),
        "log_bytes": sum(segment.extents.log_bytes() for segment in found),
        "tier2_bytes": sum(sum(s.extents.lengths) - s.extents.log_bytes() for s in found),
        "open_transactions": sum(t.state is TransactionState.OPEN for t in stream.transactions),
        "scaling": pb.ScalingPolicy.ScalingPolicyType.Name(scaling.scaleType),
        "retention": pb.RetentionPolicy.RetentionPolicyType.Name(retention.retentionType),
    }


def group_rows(storage: Storage) -> list[Row]:
    """Return a row for each reader group.

    Columns: scope, group, streams, generation, subscribes (whether the group holds retention back).
    """
    facts = Facts(storage)
    return [
        {
            "scope": scope,
            "group": group,
            "streams": " ".join(
                sorted(f"{c.streamInfo.scope}/{c.streamInfo.stream}" for c in config.startingStreamCuts)
            ),
            "generation": config.generation,
            "subscribes": bool(config.retentionType),
        }
        for (scope, group), config in sorted(facts.groups.items())
    ]


def segment_rows(storage: Storage, stream: str | None = None) -> list[Row]:
    """Return a row for each segment of ``stream`` (``scope/stream``), of transactions too, or of the store.

    Columns: segment, number (in the log), kind, sealed, start, length, events_written, keys (of a table),
    writers, pieces (of the log or of tier 2), log_bytes, tier2_bytes, created_ms, last_modified_ms.

    Raises:
        NotFoundError: There is no such stream.
    """
    if stream is not None and stream not in {f"{scope}/{name}" for scope, name in Facts(storage).streams}:
        raise NotFoundError(f"there is no stream {stream!r} in this store; 'list' names those that there are")
    segments = storage._synced.names
    chosen = [s for name, s in segments.items() if stream is None or name.startswith(f"{stream}/")]
    return [_segment_row(segment) for segment in sorted(chosen, key=lambda segment: segment.name)]


def _segment_row(segment: Segment) -> Row:
    kind = "table" if segment.table is not None else "stream"
    if transaction_id_of(segment.name) is not None:
        kind = "transaction"
    elif is_transient(segment.name):
        kind = "transient"
    return {
        "segment": segment.name,
        "number": segment.id,
        "kind": kind,
        "sealed": segment.is_sealed,
        "start": segment.start,
        "length": segment.length,
        "events_written": segment.event_count,
        "keys": len(segment.table.values) if segment.table is not None else None,
        "writers": len(segment.attributes),
        "pieces": len(segment.extents),
        "log_bytes": segment.extents.log_bytes(),
        "tier2_bytes": sum(segment.extents.lengths) - segment.extents.log_bytes(),
        "created_ms": segment.created_ms,
        "last_modified_ms": segment.last_modified_ms,
    }


def file_rows(storage: Storage, disk: Disk) -> list[Row]:
    """Return a row for each file: file, kind, size and live_bytes (those that segments need), in bytes."""
    live = live_bytes(storage)
    rows: list[Row] = []
    for name, size in disk.files().items():
        file_id = file_id_of(name)
        is_log = file_id is not None
        kind = "log" if is_log else "snapshot" if snapshot_sequence_of(name) is not None else "other"
        held = live.get(file_id, 0) if file_id is not None else None
        rows.append({"file": name, "kind": kind, "size": size, "live_bytes": held})
    return rows


def live_bytes(storage: Storage) -> dict[int, int]:
    """Return the number of bytes that segments need, by log file."""
    found: dict[int, int] = {}
    for segment in storage._synced.names.values():
        for file, length in zip(segment.extents.files, segment.extents.lengths, strict=True):
            found[file] = found.get(file, 0) + length
    return found


def piece_rows(storage: Storage, name: str) -> list[Row]:
    """Return where the bytes of a segment are: offset in the segment, file, position in it, length.

    Raises:
        NotFoundError: There is no such segment.
    """
    return list(_pieces(storage, storage._synced.get(name)))


def _pieces(storage: Storage, segment: Segment) -> Iterator[Row]:
    extents = segment.extents
    columns = (extents.offsets, extents.files, extents.positions, extents.lengths)
    for offset, file, position, length in zip(*columns, strict=True):
        where = f"log-{file:012d}" if file > 0 else storage._synced.chunks[-file].name
        yield {"offset": offset, "file": where, "position": position, "length": length}
