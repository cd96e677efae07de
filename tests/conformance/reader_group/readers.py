"""What tests of reader groups share: a stream and a group of their own, and readers that are read in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pravega_lab.client import Client, ScalingPolicy, Stream
from pravega_lab.client.reader_group import (
    Checkpoint,
    PendingCheckpoint,
    Reader,
    ReaderGroup,
    ReaderGroupConfig,
    reader_group,
)
from pravega_lab.protocol.stream_cut import UNBOUNDED

FREE_TO_SCALE = ScalingPolicy.by_event_rate(1_000_000_000, 2, 1)
WAIT_S = 40.0  # what a loaded machine may take


def new_stream(client: Client, name: str, segments: int = 1) -> Stream:
    stream = client.create_stream(name, scaling=ScalingPolicy.by_event_rate(1_000_000_000, 2, segments))
    if segments > 1:
        stream.update(scaling=FREE_TO_SCALE)
    return stream


def config(*streams: Stream, **settings: object) -> ReaderGroupConfig:
    """Looks at the group often; no automatic checkpoints."""
    made: dict[str, object] = {"group_refresh_time_ms": 100, "automatic_checkpoint_interval_ms": -1}
    return ReaderGroupConfig({s.scoped_name: UNBOUNDED for s in streams}, **{**made, **settings})  # type: ignore[arg-type]


def new_group(client: Client, stream: Stream, **settings: object) -> ReaderGroup:
    group = reader_group(client, f"{stream.scope}/g")
    assert group.create(config(stream, **settings))
    return group


def write(stream: Stream, begin: int, end: int, n_keys: int = 10) -> list[str]:
    """Events ``key:number``; what was written."""
    events = [f"key-{n % n_keys}:{n}" for n in range(begin, end)]
    stream.write(events, keys=[event.split(":")[0] for event in events])
    return events


@dataclass
class Readers:
    """Readers of one group, read in turn by this thread. ``events``: all handed out, in order."""

    group: ReaderGroup
    readers: list[Reader] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    by_reader: dict[str, list[str]] = field(default_factory=dict)
    checkpoints: list[tuple[str, str]] = field(default_factory=list)
    completed: bool = False

    def add(self, *names: str) -> Readers:
        self.readers += [self.group.create_reader(name) for name in names]
        return self

    def turn(self) -> None:
        for reader in list(self.readers):
            found = reader.read_next(0.01)
            if found.event is not None:
                self.events.append(found.event.decode())
                self.by_reader.setdefault(reader.reader_id, []).append(found.event.decode())
            elif found.checkpoint is not None:
                self.checkpoints.append((reader.reader_id, found.checkpoint))
            self.completed = self.completed or found.is_completed

    def until(self, done: Callable[[], bool], what: str = "") -> None:
        end = time.monotonic() + WAIT_S
        while not done():
            assert time.monotonic() < end, f"not yet: {what}; {len(self.events)} events, {self.group.state()}"
            self.turn()

    def read(self, n_events: int) -> list[str]:
        """Read until ``n_events`` were handed out since the last `forget`."""
        self.until(lambda: len(self.events) >= n_events, f"{n_events} events")
        return self.events

    def forget(self) -> None:
        self.events, self.by_reader, self.checkpoints = [], {}, []

    def share(self, *counts: int) -> None:
        """Read until the readers hold as many segments as given, in any order."""
        self.until(lambda: self._counts() == sorted(counts), f"shares {counts}")

    def _counts(self) -> list[int]:
        return sorted(map(len, self.group.assignments().values()))

    def checkpoint(self, name: str) -> Checkpoint:
        pending = self.group.initiate_checkpoint(name)
        return self.wait_for(pending)

    def wait_for(self, pending: PendingCheckpoint) -> Checkpoint:
        self.until(lambda: not pending.waiting_for(), f"checkpoint {pending.name}")
        return pending.result(WAIT_S)

    def close(self) -> None:
        for reader in self.readers:
            reader.close()
        self.readers = []


def each_once(found: Iterable[str], written: Iterable[str]) -> None:
    """Every event once; those of one key in order."""
    events = list(found)
    assert sorted(events) == sorted(written)
    last: dict[str, int] = {}
    for event in events:
        key, number = event.split(":")
        assert last.get(key, -1) < int(number), (key, number)
        last[key] = int(number)
