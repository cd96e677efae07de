"""What the store counts, as samples: collected when they are asked for, so that writes and reads pay nothing.

The names are those of `MetricsNames` in Pravega 0.13.0 as its Prometheus reporter spells them (dots become
underscores, counters end in ``_total``), where there is one for the same thing. Names of our own begin with
``pravega_lab``. Counters begin at 0 with the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from ...store.metadata import records as rec
from ...store.metadata.catalog import Catalog
from ...store.metadata.metadata import Change
from ...store.metadata.states import StreamState, TransactionState
from ...store.storage.storage import Storage
from ..pump import Pump
from ..segment_store import SegmentStore
from ..tiers.loop import TierLoop

STREAMS_MAX = 1_000
"""Streams with samples of their own. With more streams, only the sums are exported."""


class Kind(Enum):
    """The types of Prometheus that are used here."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. ``values`` has a number for each combination of label values."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    values: dict[tuple[str, ...], float] = field(default_factory=dict)


class Tally:
    """Counts what happened to streams, transactions and segments since the process began.

    It watches the changes of the metadata, of which there is none per event.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = dict.fromkeys(_TALLIED, 0)

    def watch(self, change: Change, now_ms: int) -> None:
        """Count a change; a watcher of `Metadata`."""
        for record in change.written:
            for name in _names_of(record):
                self.counts[name] += 1
        for record in change.removed:
            if isinstance(record, rec.StreamRecord) and not record.stream.startswith("_"):
                self.counts["stream_deleted"] += 1


_TALLIED = {
    "stream_created": "Streams created.",
    "stream_sealed": "Streams sealed.",
    "stream_deleted": "Streams deleted.",
    "stream_truncated": "Truncations of streams, by retention too.",
    "segment_splits": "Scales that made more segments of fewer.",
    "segment_merges": "Scales that made fewer segments of more.",
    "transactions_created": "Transactions created.",
    "transactions_committed": "Transactions committed.",
    "transactions_aborted": "Transactions aborted, by their lease too.",
}
_OF_STATE = {
    TransactionState.OPEN: "transactions_created",
    TransactionState.COMMITTED: "transactions_committed",
    TransactionState.ABORTED: "transactions_aborted",
}


def _names_of(record: rec.Record) -> Iterator[str]:
    match record:
        case rec.OfStream() if record.stream.startswith("_"):
            return
        case rec.StreamEpochRecord():
            sealed, created = len(record.epoch.sealed), len(record.epoch.created)
            if record.epoch.epoch == 0:
                yield "stream_created"
            elif created != sealed:
                yield "segment_splits" if created > sealed else "segment_merges"
        case rec.StreamRecord() if record.state is StreamState.SEALED:
            yield "stream_sealed"
        case rec.TruncationRecord():
            yield "stream_truncated"
        case rec.TransactionRecord():
            if record.state in _OF_STATE:
                yield _OF_STATE[record.state]


class Samples:
    """Collects the metrics of one store.

    ``logged`` is the number of lines of the log by level, as it is counted. ``tier`` is tier 2, if the store
    has one.
    """

    def __init__(
        self,
        storage: Storage,
        store: SegmentStore,
        pump: Pump,
        logged: Mapping[str, int],
        tier: TierLoop | None = None,
    ) -> None:
        self.tally = Tally()
        self._logged = logged
        self._storage = storage
        self._store = store
        self._pump = pump
        self._tier = tier
        self._begin = storage.totals()

    def collect(self, catalog: Catalog | None, free_bytes: int | None) -> list[Metric]:
        """Return all metrics as they are now.

        Args:
            catalog: The streams, None before the controller serves.
            free_bytes: Room on the disk, None in memory.
        """
        found = [*self._of_segment_store(), *self._of_log(free_bytes)]
        if self._tier is not None:
            found += self._of_tier(self._tier)
        if catalog is not None:
            found += [*self._of_controller(catalog)]
        return found

    def _of_segment_store(self) -> Iterator[Metric]:
        now, begin, store = self._storage.totals(), self._begin, self._store
        segment = "pravega_segmentstore_segment"
        yield _counter(f"{segment}_write_bytes_global", "Bytes appended.", now.bytes - begin.bytes)
        yield _counter(f"{segment}_write_events_global", "Events appended.", now.events - begin.events)
        yield _counter(f"{segment}_read_bytes_global", "Bytes read.", now.read_bytes)
        container = "pravega_segmentstore_container"
        yield _gauge(f"{container}_active_segments", "Segments.", now.segments)
        yield _gauge(f"{container}_operation_queue_size", "Submissions waiting.", self._storage.queued)
        yield _gauge("pravega_lab_connections", "Connections to the segment store.", len(store.connections))
        yield _gauge(
            "pravega_lab_append_bytes_waiting",
            "Bytes of changes that wait for the disk.",
            store.waiting_bytes,
        )
        yield _gauge(
            "pravega_lab_throttled_connections",
            "Connections that are not read from until the disk keeps up.",
            store.throttled_count,
        )

    def _of_log(self, free_bytes: int | None) -> Iterator[Metric]:
        pump, log = self._pump, "pravega_segmentstore_bookkeeper"
        yield _counter(f"{log}_write_bytes", "Bytes written to the log.", pump.written_bytes)
        yield _counter("pravega_lab_log_groups", "Groups written to the log and synced.", pump.groups)
        yield _counter(
            "pravega_lab_log_write_seconds", "Time in which a group was written and synced.", pump.write_s
        )
        yield _gauge("pravega_lab_log_files", "Log files.", self._storage.log_file_count)
        is_full = self._storage.is_full
        yield _gauge("pravega_lab_disk_full", "1 while the disk has no room for a file.", is_full)
        if free_bytes is not None:
            yield _gauge("pravega_lab_disk_free_bytes", "Room on the disk of the data folder.", free_bytes)
        for level, number in self._logged.items():
            yield _counter(f"pravega_logged_{level}", f"Log lines with the level of {level}.", number)

    def _of_tier(self, tier: TierLoop) -> Iterator[Metric]:
        storage = "pravega_segmentstore_storage"
        yield _counter(f"{storage}_write_bytes", "Bytes of segments written to tier 2.", tier.written_bytes)
        yield _counter(f"{storage}_read_bytes", "Bytes of segments read from tier 2.", tier.reader.read_bytes)
        chunks = tier.tiered.chunks()
        ours = "pravega_lab_tier2"
        yield _gauge(f"{ours}_chunks", "Objects of tier 2 in which segments have bytes.", len(chunks))
        stored = sum(chunk.length for chunk in chunks)
        yield _gauge(f"{ours}_bytes", "Bytes of these objects.", stored)
        log_bytes = tier.tiered.log_bytes
        yield _gauge(f"{ours}_log_bytes", "Bytes of segments that are still in the log.", log_bytes)
        yield _gauge(f"{ours}_failures", "Failed steps since the last that succeeded.", tier.mover.failures)
        yield _gauge(f"{ours}_behind", "1 while appends wait for tier 2.", tier.mover.is_behind)

    def _of_controller(self, catalog: Catalog) -> Iterator[Metric]:
        for name, about in _TALLIED.items():
            yield _counter(f"pravega_controller_{name}", about, self.tally.counts[name])
        streams = [stream for stream in catalog.streams() if not stream.name.startswith("_")]
        yield _gauge("pravega_lab_streams", "Streams, internal ones not counted.", len(streams))
        labels = ("scope", "stream")
        count = Metric("pravega_controller_segments_count", Kind.GAUGE, "Active segments.", labels)
        opened = Metric("pravega_controller_transactions_opened", Kind.GAUGE, "Open transactions.", labels)
        size = Metric("pravega_lab_stream_bytes", Kind.GAUGE, "Bytes that can be read.", labels)
        for stream in streams if len(streams) <= STREAMS_MAX else ():
            key = (stream.scope, stream.name)
            count.values[key] = len(stream.epochs.active.segments)
            opened.values[key] = len(stream.open)
            size.values[key] = self._storage.readable_bytes(stream.segment_names(stream.live_ids))
        yield from (count, opened, size)


def _counter(name: str, about: str, value: float) -> Metric:
    return Metric(name, Kind.COUNTER, about, (), {(): value})


def _gauge(name: str, about: str, value: float) -> Metric:
    return Metric(name, Kind.GAUGE, about, (), {(): float(value)})
