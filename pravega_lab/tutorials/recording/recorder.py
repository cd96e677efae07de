"""Runs under virtual time, recorded as an observer sees them from outside.

Store, client, reader group and bytes are the real code (docs/simulation.md). `Recorder` follows the stream
and the state log of the group as `observe` does, and a ledger counts at the same time. A recording is
therefore a function of its seed. No journal says what was done to the run (a reader killed, for example): to
find it is the lesson.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group import reading
from pravega_lab.client.reader_group.access import GroupAccess
from pravega_lab.client.reader_group.following import AsyncGroupLog, LogEntry
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.stream import AsyncStream
from pravega_lab.client.values import ScalingPolicy
from pravega_lab.engine.store.log.disk import Disk
from pravega_lab.errors import StoreUnavailableError, TruncatedDataError
from pravega_lab.observe.group.entries import read_entry
from pravega_lab.observe.group.rows import split_segment
from pravega_lab.observe.group.tracker import GroupTracker
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.ledger import Ledger
from pravega_lab.observe.ledger.numbered import make
from pravega_lab.observe.stream.causes import Policy
from pravega_lab.observe.stream.tracker import StreamTracker
from pravega_lab.portable.waiting import gather
from pravega_lab.protocol.names import epoch_of
from pravega_lab.testing.simulated import SimulatedPravega, SimulatedProgram

START_MS = 1_358_154_000_000  # 2013-01-14 09:00 UTC, a Monday of the data set
STREAM, GROUP = "ops/departures", "ops/desk"
LOOK_S = 0.5
EVENT_BYTES, HEADER_BYTES = 60, 8
FLUSH_EVERY = 4
READ_S = 0.25
BEGIN_S = 0.3  # readers that joined before then share from the beginning

Script = Callable[["Recorder"], Coroutine[Any, Any, None]]


class Recorder:
    """One run: a stream, a group with its readers, a writer, and the journal of all of them.

    ``journal`` is complete when `run` returns, and ``disk`` holds the store as it was then.

    Args:
        seed: Decides everything that is random.
        keys: Routing keys; event ``n`` has key ``n`` modulo their number.
    """

    def __init__(self, seed: int, keys: Sequence[str]) -> None:
        self.pravega = SimulatedPravega(seed, repeat="python -m pravega_lab.tutorials.recording.recordings")
        self.keys = list(keys)
        self.journal = Journal(f"{STREAM} and group {GROUP}", seed=seed, spill=False)
        self.ledger = Ledger(self.journal, name="desk", now_ms=self._now_ms)
        self.programs: dict[str, SimulatedProgram] = {}
        self.every_s: dict[str, float] = {}
        self.client: AsyncClient
        self.stream: AsyncStream
        self.group: AsyncReaderGroup
        self._ended = False
        self._n_read = 0
        self._segments = 1
        self._groups = GroupTracker(GROUP, uri=self.pravega.uri)
        self._streams = StreamTracker(STREAM, event_bytes=EVENT_BYTES + HEADER_BYTES, uri=self.pravega.uri)

    @property
    def disk(self) -> Disk:
        """What the store has written."""
        return self.pravega._world.store.disk

    def run(self, script: Script, *, segments: int) -> Journal:
        """Make stream and group, follow them, run the script, and settle the ledger at its end."""
        self._segments = segments
        self.pravega.run(self._main(script))
        self.journal.live = False
        return self.journal

    async def _main(self, script: Script) -> None:
        async with self.pravega.client("desk") as self.client:
            self.stream = await self.client.create_stream(STREAM, scaling=ScalingPolicy.fixed(self._segments))
            config = reading([STREAM], group_refresh_time_ms=500, automatic_checkpoint_interval_ms=-1)
            self.group = self.group_of(self.client)
            await self.group.create(config)
            followers = [asyncio.create_task(f(), name=f.__name__) for f in (self._follow, self._follow_log)]
            await script(self)
            self._ended = True
            await gather(*followers)
            self._settle()
            await self.group.close()

    def _settle(self) -> None:
        """Judge at the end: what was not read by now is lost."""
        self.ledger.settled("read")

    # -- for scripts ----------------------------------------------------------------------------------------

    async def until(self, at_s: float) -> None:
        """Wait for a second of the recording."""
        await asyncio.sleep(max(0.0, at_s - self.pravega.now_s))

    def start_reader(self, name: str, *, every_s: float = 0.05) -> None:
        """Start a reader that takes this long for each event; ``every_s[name]`` changes it."""
        self.every_s[name] = every_s
        self.programs[name] = self.pravega.start(name, self._read(name))

    def start_writer(self, n: int, *, every_s: float, route: Callable[[str], str] | None = None) -> None:
        """Start a writer of ``n`` events at this interval; ``route`` makes its routing keys from ours."""
        made = self._write(n, every_s, route or (lambda key: key))
        self.programs["writer"] = self.pravega.start("writer", made)

    def kill(self, name: str) -> None:
        """Kill a reader between two steps. Nothing reports it."""
        self.programs[name].kill()

    async def has_read_all(self, checkpoint: str, within_s: float = 60.0) -> None:
        """Wait, once the writer is done, until two seconds passed without a read, also after this checkpoint.

        Successors of a segment become readable at a checkpoint.
        """
        await self.programs["writer"].ends(within_s)
        await self._falls_silent()
        await (await self.group.initiate_checkpoint(checkpoint)).result(within_s)
        await self._falls_silent()

    async def _falls_silent(self) -> None:
        seen = -1
        while (now := self._n_read) > seen:
            seen = now
            await asyncio.sleep(2.0)

    def group_of(self, client: AsyncClient) -> AsyncReaderGroup:
        """Return a handle of the group whose clock is that of the run."""
        return AsyncReaderGroup(lambda: GroupAccess(GROUP, client._controller, client._stores, self._now_ms))

    # -- programs -------------------------------------------------------------------------------------------

    async def _read(self, name: str) -> None:
        async with self.pravega.client(name) as client, self.group_of(client) as group:
            reader = await group.create_reader(name)
            await self.until(BEGIN_S)
            while True:
                try:
                    found = await reader.read_next(READ_S)
                except TruncatedDataError:
                    continue  # the next events are gone; the reader resumes after them
                if found.event is None:
                    continue
                segments, offsets = [found.segment_id], [found.offset]
                ids = [number_of(found.event)]
                self.ledger.read(ids, where=name, segments=segments, offsets=offsets)
                self._n_read += 1
                await asyncio.sleep(self.every_s[name])

    async def _write(self, n: int, every_s: float, route: Callable[[str], str]) -> None:
        async with self.pravega.client("writer") as client, client.stream(STREAM).writer() as writer:
            for first in range(0, n, FLUSH_EVERY):
                numbers = range(first, min(n, first + FLUSH_EVERY))
                keys, events = self.hand_over(numbers)
                await writer.write(events, [route(key) for key in keys])
                await writer.flush()
                self.ledger.acknowledged(list(numbers))
                await asyncio.sleep(every_s * len(numbers))

    def hand_over(self, numbers: range) -> tuple[list[str], list[bytes]]:
        """Return keys and events of these numbers, which the ledger records as about to be written."""
        keys = [self.keys[number % len(self.keys)] for number in numbers]
        self.ledger.written(list(numbers), keys, where="the writer")
        return keys, make(numbers, keys, [n // len(self.keys) for n in numbers], EVENT_BYTES)

    # -- observing -----------------------------------------------------------------------------------------

    def _now_ms(self) -> int:
        return START_MS + round(1000 * self.pravega.now_s)

    async def _follow(self) -> None:
        """Follow the stream as `observe.stream` does: epochs, then lengths, twice a second."""
        tracker = self._streams
        async with self.pravega.client("observer of the stream") as client:
            stream = client.stream(STREAM)
            self.journal.extend(tracker.saw_policy(Policy("fixed", 0, 1, 1), now_ms=self._now_ms()))
            while not self._ended:
                active, now_ms = await stream.segments(), self._now_ms()
                epoch = max(epoch_of(r.segment_id) for r in active)
                if epoch != tracker.epoch:
                    assert epoch == 0 or tracker.epoch == epoch - 1
                    kept = {r.segment_id for r in active}
                    ended = [i for i in tracker.active if i not in kept]
                    lengths = {i: (await stream.segment_info(i)).write_offset for i in ended}
                    self.journal.extend(tracker.saw_epoch(epoch, active, now_ms=now_ms, lengths=lengths))
                for segment in active:
                    info = await stream.segment_info(segment.segment_id)
                    seen = (segment.segment_id, info.start_offset, info.write_offset)
                    self.journal.extend(tracker.measured(*seen, now_ms=self._now_ms()))
                self.journal.tick(self._now_ms())
                await asyncio.sleep(LOOK_S)

    async def _follow_log(self) -> None:
        """Follow the state log as `observe.group` does."""
        tracker = self._groups
        async with self.pravega.client("observer of the group") as client:
            log = AsyncGroupLog(client, GROUP)
            place = await log.locate()
            tracker.segment = place.segment
            await log.read_from(place, 0)
            while not self._ended:
                for entry in await _entries(log):
                    updates = read_entry(entry.data)
                    await self._learn_ranges(log, tracker.missing_ranges(updates))
                    self.journal.extend(
                        tracker.take(updates, entry.end, now_ms=self._now_ms(), uncertain_ms=1)
                    )
            await log.close()

    async def _learn_ranges(self, log: AsyncGroupLog, names: Sequence[str]) -> None:
        if names:
            ids = [split_segment(name)[1] for name in names]
            found = await log.ranges(STREAM, ids)
            self._groups.learn_ranges({n: (r.low, r.high) for n, r in zip(names, found, strict=True)})


async def _entries(log: AsyncGroupLog) -> list[LogEntry]:
    """Return the next entries; none, a little later, while the store is away."""
    try:
        return await log.next(LOOK_S)
    except StoreUnavailableError:
        await asyncio.sleep(LOOK_S / 10)
        return []


def number_of(event: bytes) -> int:
    """Return the number of an event that `make` made."""
    return int(event.split(b"|", 1)[0])
