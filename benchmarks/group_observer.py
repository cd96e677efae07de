"""Whether an observer of a reader group keeps up: python -m benchmarks.group_observer

Another process writes the state log of a group as its readers would (8 of them, 16 segments: checkpoints with
positions, releases, acquisitions, lags) at a steady rate, an entry for each decision. Measured: how long
after being written an update is in the journal, what the observer's process spends, and how fast it reads a
log that is already complete.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import statistics
import struct
import sys
import time
from collections.abc import Iterator
from itertools import count
from uuid import uuid4

from benchmarks.common.run import Run, parser_of, rounds_of
from pravega_lab.client import AsyncClient, Client, ScalingPolicy, connect
from pravega_lab.client.connection.connection import Connection
from pravega_lab.client.reader_group import reader_group, reading
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.observe import observe
from pravega_lab.observe.group.observations import GroupUpdated, ReaderMeasured
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import Update
from pravega_lab.protocol.names import segment_name
from pravega_lab.protocol.wire.commands import AppendBlockEnd, DataAppended, SetupAppend

READERS = [f"reader-{n}" for n in range(8)]
SEGMENTS = 16
RATE_WANTED = 2_000
LATE_MS_MAX = 500  # 95 of 100 updates are observed within this
CPU_US_MAX = 250  # per update, so that the wanted rate takes half a core
HEADER = struct.Struct(">ii")
FIGURES = {
    "updates told a second": "live",
    "written to told, ms, median": "live",
    "written to told, ms, 95 of 100": "live",
    "CPU of the observer's process, µs per update": "live",
    "updates told a second (complete log)": "behind",
}


def updates_of(stream: str) -> Iterator[list[Update]]:
    """Entries without end, as readers write them; the first make 8 readers with 2 segments each."""
    scope, name = stream.split("/")
    held = {
        reader: [segment_name(scope, name, 2 * n), segment_name(scope, name, 2 * n + 1)]
        for n, reader in enumerate(READERS)
    }
    for reader, segments in held.items():
        yield [rg.AddReader(reader)]
        yield [*(rg.AcquireSegment(reader, segment) for segment in segments), lag(reader, segments)]
    for turn in count(1):
        checkpoint = f"checkpoint-{turn}"
        yield [rg.CreateCheckpoint(checkpoint), rg.ClearCheckpointsBefore(checkpoint)]
        for reader, segments in held.items():
            yield [rg.CheckpointReader(checkpoint, reader, dict.fromkeys(segments, 1_000 * turn))]
        for reader, segments in held.items():
            yield [rg.ReleaseSegment(reader, segments[0], 1_000 * turn)]
            yield [rg.AcquireSegment(reader, segments[0]), lag(reader, segments)]


def lag(reader: str, segments: list[str]) -> Update:
    """The clock, as Java's readers write it: so it is known when it was written."""
    positions = {rg.SegmentWithRange(segment): 7 for segment in segments}
    return rg.UpdateDistanceToTail(reader, time.time_ns() // 1_000_000, positions)


class LogWriter:
    """Appends entries to a state log, several at once, as a busy group's readers do together."""

    def __init__(self, connection: Connection, segment: str) -> None:
        self._connection, self._segment = connection, segment
        self._writer, self._written = uuid4(), 0

    async def begin(self) -> None:
        await self._connection.ask(SetupAppend(0, self._writer, self._segment, ""))

    async def append(self, entries: list[list[Update]]) -> None:
        """Returns when they are in the log."""
        data = [rg.updates(entry) for entry in entries]
        framed = b"".join(HEADER.pack(0, len(part)) + part for part in data)
        self._written += len(entries)
        append = AppendBlockEnd(self._writer, 0, framed, len(entries), self._written, 0)
        reply = await self._connection.ask(append)
        assert isinstance(reply, DataAppended), reply


async def _write(uri: str, group: str, stream: str, rate: float, n_updates: int) -> None:
    scope, name = group.split("/")
    log = f"{scope}/_RG{name}"
    async with AsyncClient(uri) as client:
        connection = await client._stores.open(await client._controller.endpoint(log, 0))
        writer = LogWriter(connection, segment_name(scope, f"_RG{name}", 0))
        await writer.begin()
        written, began, entries = 0, time.monotonic(), updates_of(stream)
        while written < n_updates:
            due = min(int((time.monotonic() - began) * rate), n_updates) - written
            together: list[list[Update]] = []
            while sum(map(len, together)) < due:
                together.append(next(entries))
            if together:
                await writer.append(together)
                written += sum(map(len, together))
            await asyncio.sleep(0.005)
        connection.close()


def write(uri: str, group: str, stream: str, rate: float, n_updates: int) -> None:
    """In a process of its own."""
    asyncio.run(_write(uri, group, stream, rate, n_updates))


def one_round(uri: str, client: Client, scope: str, options: argparse.Namespace) -> dict[str, float]:
    stream = client.create_stream(f"{scope}/x", scaling=ScalingPolicy.fixed(SEGMENTS)).scoped_name
    group = reader_group(client, f"{scope}/g")
    group.create(reading([stream], automatic_checkpoint_interval_ms=-1))
    n_updates = int(options.rate * options.seconds)
    writing = multiprocessing.get_context("spawn").Process(
        target=write, args=(uri, group.scoped_name, stream, options.rate, n_updates)
    )
    with observe(uri, group=group.scoped_name, group_streams=False) as watch:
        assert watch.look()
        spent = cpu_s()
        writing.start()
        writing.join()
        assert watch.look(60)
        spent = cpu_s() - spent
        told = [o for o in watch.since() if isinstance(o, GroupUpdated)]
        late = sorted(
            o.time_ms - o.distance_to_tail_ms for o in watch.since() if isinstance(o, ReaderMeasured)
        )
        seconds = (told[-1].time_ms - told[1].time_ms) / 1000
        assert not watch.trouble, watch.trouble
    began = time.monotonic()
    with observe(uri, group=group.scoped_name, group_streams=False) as again:
        assert again.look(120)
        behind_s = time.monotonic() - began
        assert len([o for o in again.since() if isinstance(o, GroupUpdated)]) == len(told)
    values = [
        len(told) / seconds, statistics.median(late), late[int(0.95 * len(late))],
        1e6 * spent / len(told), len(told) / behind_s,
    ]  # fmt: skip
    return dict(zip(FIGURES, values, strict=True))


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = parser_of(__doc__, rounds=3)
    parser.add_argument("--rate", type=float, default=3_000, help="updates a second (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10, help="per round (default: %(default)s)")
    options = parser.parse_args()
    run = Run(f"An observer of a reader group: {len(READERS)} readers, {SEGMENTS} segments")
    with StoreProcess(None) as store, connect(store.uri) as client:
        for turn in rounds_of(options):
            found = one_round(store.uri, client, f"bench{time.time_ns()}", options)
            for what, value in found.items() if turn else ():
                run.add(what, FIGURES[what], value)
    told = "updates told a second"
    run.target(told, run.median(told, "live"), min(RATE_WANTED, 0.9 * options.rate))
    late = "written to told, ms, 95 of 100"
    run.target(late, run.median(late, "live"), LATE_MS_MAX, at_least=False)
    cpu = "CPU of the observer's process, µs per update"
    run.target(cpu, run.median(cpu, "live"), CPU_US_MAX, at_least=False)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())
