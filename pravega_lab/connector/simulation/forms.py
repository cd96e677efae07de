"""The forms in which a job can read a stream, by letter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pravega_lab.connector.flow import (
    EnumeratorSnapshotSource,
    EventRows,
    GroupSettings,
    PositionSource,
    PravegaPartitionSource,
    PravegaReader,
    PravegaSegmentSource,
    PravegaSource,
)
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import DataStream, StreamEnvironment
from pravega_lab.engine.flow.source.sources import Source

AUTOMATIC_CHECKPOINT_MS = 500  # for the group of (b1), which no job checkpoint covers
DISCOVERY_MS = 300
AnySource = Source | PravegaReader  # type: ignore[type-arg]  # splits and states of all kinds


@dataclass(frozen=True)
class Form:
    """One form of reading. ``is_exactly_once`` and ``is_in_order`` say what it promises."""

    letter: str
    about: str
    make: Callable[[GroupSettings, EventRows], AnySource]
    has_group: bool = True
    is_exactly_once: bool = True
    is_in_order: bool = True

    def read(self, env: StreamEnvironment, settings: GroupSettings, rows: EventRows) -> DataStream:
        """Return the stream of a source of this form."""
        source = self.make(settings, rows)
        if isinstance(source, PravegaReader):
            return env.add_source(source, uid="source")
        return env.from_source(source, uid="source")


def _positions(settings: GroupSettings, rows: EventRows) -> PositionSource:
    automatic = replace(settings, automatic_checkpoint_ms=AUTOMATIC_CHECKPOINT_MS)
    return PositionSource(automatic, rows=rows)


def _segments(settings: GroupSettings, rows: EventRows) -> PravegaSegmentSource:
    return PravegaSegmentSource(
        settings.config, settings.streams[0], rows=rows, batch_bytes=settings.batch_bytes
    )


def _partitions(settings: GroupSettings, rows: EventRows) -> PravegaPartitionSource:
    return PravegaPartitionSource(
        settings.config,
        settings.streams[0],
        rows=rows,
        batch_bytes=settings.batch_bytes,
        discovery_ms=DISCOVERY_MS,
    )


FORMS = {
    form.letter: form
    for form in (
        Form("a", "legacy reader with a master hook", lambda s, r: PravegaReader(s, rows=r)),
        Form("b1", "positions in reader state", _positions, is_exactly_once=False, is_in_order=False),
        Form(
            "b2",
            "the enumerator's snapshot alone",
            lambda s, r: EnumeratorSnapshotSource(s, rows=r),
            is_exactly_once=False,
            is_in_order=False,
        ),
        Form("b3", "externally induced reader", lambda s, r: PravegaSource(s, rows=r)),
        Form("c", "split = segment", _segments, has_group=False),
        Form("d", "as for Kafka", _partitions, has_group=False, is_in_order=False),
    )
}


def graph_of(
    form: Form, settings: GroupSettings, rows: EventRows, sink: Callable[[DataStream], object], readers: int
) -> JobGraph:
    """Return the graph of a job that reads in this form, keys by ``k``, and writes into the sink."""
    env = StreamEnvironment(f"read as ({form.letter})", parallelism=readers)
    sink(form.read(env, settings, rows).key_by("k"))
    return env.job_graph()
