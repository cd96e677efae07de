"""A job that copies a stream while the stream scales and the job fails: the runs of tutorials 07 and 08.

Store, client, reader group, engine and connector are the real code under virtual time (docs/simulation.md).
`copied` subjects one way of reading, (a) to (d) of docs/connector-flow.md, to one story. A run is a function
of way, story and seed: the same events, splits, merges and failures meet every way.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.values import ScalingPolicy
from pravega_lab.connector.flow import EventRows, GroupSettings, PravegaConfig, PravegaWriter, RowEvents
from pravega_lab.connector.simulation.forms import FORMS
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.simulation.flow.failures import FlowFailure
from pravega_lab.engine.simulation.flow.steps import apart
from pravega_lab.engine.simulation.flow.world import FlowConditions, FlowHost, FlowWire
from pravega_lab.engine.simulation.store.world import EVENT_HEADER_BYTES, events_in
from pravega_lab.errors import BadInputError, NotFoundError
from pravega_lab.observe.job.observer import JobObserver
from pravega_lab.portable.waiting import gather
from pravega_lab.protocol.names import SegmentRange, epoch_of, number_of, segment_name, split_scoped_name
from pravega_lab.protocol.stream_cut import StreamCut
from pravega_lab.tutorials.copying.notes import ENUMERATOR, HOOK, SOURCE, Notes
from pravega_lab.tutorials.copying.result import Stored, cut_lines, disorder, kept_rows
from pravega_lab.tutorials.recording.recorder import GROUP, STREAM, Recorder, Script

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.widgets.drawings.cut_picture import CutPicture

T = TypeVar("T")
OUT = "ops/copy"
KEYS = ("N14228", "N24211", "N619AA", "N804JB", "N668DN", "N39463", "N516JB", "N829AS")
INTERVAL_MS, REFRESH_MS, READ_MS, DOWN_MS = 2_000, 200, 100, 1_000
ONE_EVENT = 68  # bytes that the source emits at once
LOOK_S = 0.5
QUIET_S = 4.0  # after two checkpoints without a new row no more rows will come
WRITTEN_WITHIN_S = 60.0


@dataclass(frozen=True)
class Story:
    """What happens to the stream and to the job.

    Args:
        acts: A virtual second and what is done then, in order. ``split 0`` and ``merge 2 3`` name segments by
        their
            number; ``fail 1`` lets that subtask of the source fail.
        events: The number of events; one is written every ``every_s``, with eight keys in turn.
        segments: The number of segments of the stream at the beginning.
        readers: The number of subtasks of the source.
        delay_ms: The longest time that a message between two subtasks takes; it makes the job slow.
    """

    acts: tuple[tuple[float, str], ...]
    events: int = 480
    every_s: float = 0.02
    segments: int = 2
    readers: int = 2
    delay_ms: int = 60


class Copying(Recorder):
    """One run, which is over when it has been constructed. See `copied`."""

    def __init__(self, way: str, story: Story, seed: int) -> None:
        if way not in FORMS:
            raise BadInputError(f"copied({way!r}): a way to read is one of {', '.join(map(repr, FORMS))}")
        super().__init__(seed, KEYS)
        self.form, self.story, self.seed = FORMS[way], story, seed
        self._files = MemoryFiles()
        self._clients, self._names = count(), Random(f"{seed}/names")
        self._config = PravegaConfig(connect=self._connect, clock_ms=self._now_ms)
        self.notes = Notes(self.form, self._files)
        self._graph = self._make_graph()
        self.notes.then = self.job = JobObserver(self._graph, seed=seed, simulated=True)
        self._rows: list[Row] = []
        self._failed_with: list[SegmentRange] = []  # the segments that there were then
        self.stored: Stored = {}
        self.run(lambda _: self._happen(), segments=story.segments)
        self.job.close()

    def __repr__(self) -> str:
        return f"({self.form.letter}) {self.form.about}, seed {self.seed}: {self.ledger.verdict().sentence}"

    # -- the result ----------------------------------------------------------------------------------------

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers of events that were written, lost, doubled and out of order."""
        found = self.ledger.verdict()
        return {
            "lost": found.lost or 0, "doubled": found.doubled or 0, "out of order": found.out_of_order or 0,
        }  # fmt: skip

    @property
    def went_back_to(self) -> int:
        """The checkpoint from which the job resumed after its failure.

        Raises:
            BadInputError: The job did not fail, or failed before its first checkpoint.
        """
        found = self.notes.back_to[-1]
        if found is None:
            raise BadInputError(f"{self!r}: it never went back to a checkpoint; let the story fail later")
        return found

    def kept(self, checkpoint_id: int | None = None) -> pd.DataFrame:
        """Return what a checkpoint has of the source: who stores which segment, and the events before it.

        By default it is the checkpoint to which the job went back.
        """
        return kept_rows(self.notes.taken[checkpoint_id or self.went_back_to], self.stored)

    def stream_cut(self, checkpoint_id: int | None = None) -> StreamCut:
        """Return the cut of the reader group in a checkpoint, by default the one to which the job went back.

        Raises:
            BadInputError: This way of reading stores no cut.
        """
        kept = self.notes.taken[checkpoint_id or self.went_back_to].kept
        found = next((where for who, where in kept.items() if who in (HOOK, ENUMERATOR)), None)
        if found is None or not self.form.has_group:
            raise BadInputError(f"({self.form.letter}) keeps no stream cut: .kept() has what it keeps")
        return StreamCut(STREAM, dict(sorted(found.items())))

    def cut(self) -> CutPicture:
        """Return the checkpoint to which the job went back, per segment.

        It shows where the cut is, where the barrier passed, and where the job resumed.
        """
        from pravega_lab.widgets.drawings.cut_picture import CutPicture

        taken = self.notes.taken[self.went_back_to]
        stored = {segment: self.stored[segment] for segment in self._failed_with}
        is_cut = self.form.letter not in ("b1", "d")
        lines = cut_lines(taken, self.notes.read_on_at, stored, self._rows, is_cut=is_cut)
        return CutPicture(
            f"({self.form.letter}) {self.form.about}", f"checkpoint {taken.checkpoint_id}", lines
        )

    def disorder(self) -> pd.DataFrame:
        """Return every event that came after a younger one of its key, and where each was read."""
        return disorder(self._rows)

    # -- the job -------------------------------------------------------------------------------------------

    def _make_graph(self) -> JobGraph:
        env = StreamEnvironment(f"copy as ({self.form.letter})", parallelism=self.story.readers)
        settings = GroupSettings(
            self._config, GROUP, [STREAM], refresh_ms=REFRESH_MS, read_timeout_ms=READ_MS,
            batch_bytes=ONE_EVENT,
        )  # fmt: skip
        rows = self.form.read(env, settings, EventRows(_row, with_metadata=True))
        sink = PravegaWriter(self._config, OUT, events=RowEvents(lambda row: json.dumps(row).encode(), "k"))
        noted = rows.process(self.notes, name="note")
        noted.key_by("k").sink_to(sink, name="copy", uid="sink", parallelism=1)
        return env.job_graph()

    def _connect(self, who: str) -> AsyncClient:
        # Clients of one name would draw the same writer ids, and the store would confuse their writers.
        return self.pravega.client(f"{who} {next(self._clients)}")

    async def _start(self) -> Job:
        loop: Any = asyncio.get_running_loop()
        conditions = FlowConditions(delay_us_max=1000 * self.story.delay_ms)
        checkpoints = CheckpointConfig(interval_ms=INTERVAL_MS, timeout_ms=6_000, tolerable_failures=1_000)
        job = Job(
            self._graph,
            JobConfig(checkpoints, restart=FixedDelay(wait_ms=DOWN_MS), channel_capacity=2),
            files=self._files,
            observer=self.notes,
            wire=FlowWire(loop, Random(f"{self.seed}/wire"), conditions),
            host=FlowHost(loop),
            now_ms=self._now_ms,
            unique_id=lambda: f"{self._names.getrandbits(128):032x}",
        )
        await job.start()
        return job

    # -- the story -----------------------------------------------------------------------------------------

    async def _main(self, script: Script) -> None:
        async with self.pravega.client("desk") as self.client:
            initial = ScalingPolicy.fixed(self.story.segments)
            self.stream = await self.client.create_stream(STREAM, scaling=initial)
            await self.stream.update(
                scaling=ScalingPolicy.by_event_rate(1_000_000_000, 2, 1)
            )  # may be merged
            await self.client.create_stream(OUT)
            following: list[Coroutine[Any, Any, None]] = [self._follow(), self._follow_copy()]
            if self.form.has_group:
                following.append(self._follow_group())
            followers = [asyncio.create_task(one) for one in following]
            await script(self)
            self._ended = True
            await gather(*followers)
            self._read_copy()
            self.ledger.settled("committed")
            self.stored = {
                segment: self._numbers(segment.segment_id) for segment in await self._all_segments()
            }

    async def _happen(self) -> None:
        running = await self._start()
        self.start_writer(self.story.events, every_s=self.story.every_s)
        for at_s, act in self.story.acts:
            await self.until(at_s)
            await self._do(running, act)
        await self.programs["writer"].ends(WRITTEN_WITHIN_S)
        rows = -1
        while len(self._rows) > rows:
            rows = len(self._rows)
            await asyncio.sleep(QUIET_S)
        await running.cancel()

    async def _do(self, running: Job, act: str) -> None:
        what, *numbers = act.split()
        if what == "fail":
            tasks = [one for one in running.master.executions if one.vertex.startswith(SOURCE)]
            [task] = _named(act, numbers, {one.index: one for one in tasks})
            self._failed_with = await self._all_segments()
            self.ledger.fault(f"subtask {task.index} of the source fails", act)
            running.fail_subtask(task, FlowFailure("a user's function raised"))
            return
        active = {number_of(s.segment_id): s.segment_id for s in await self.stream.segments()}
        named = _named(act, numbers, active)
        if what not in ("split", "merge"):
            raise BadInputError(f"{act!r}: an act of a story is split 0, merge 2 3 or fail 1")
        await (self.stream.split(named[0]) if what == "split" else self.stream.merge(named))

    async def _all_segments(self) -> list[SegmentRange]:
        newest = max(epoch_of(s.segment_id) for s in await self.stream.segments())
        epochs = [await self.stream.epoch_segments(epoch) for epoch in range(newest + 1)]
        return list(dict.fromkeys(segment for segments in epochs for segment in segments))

    # -- observing ----------------------------------------------------------------------------------------

    async def _follow_group(self) -> None:
        while not self._ended:
            try:
                await self._follow_log()
            except NotFoundError:
                await asyncio.sleep(LOOK_S / 10)  # the job is about to create it

    async def _follow_copy(self) -> None:
        while not self._ended:
            self._read_copy()
            await asyncio.sleep(LOOK_S)

    def _read_copy(self) -> None:
        """Take what was committed since the last look, from the store's storage."""
        found = self._events(0, OUT)[len(self._rows) :]
        for _, event in found:
            row = json.loads(str(event))
            self._rows.append(row)
            ids, segments, offsets = [row["n"]], [row["segment_id"]], [row["offset"]]
            self.ledger.committed(ids, where="the copy, from", segments=segments, offsets=offsets)

    def _numbers(self, segment: int) -> list[tuple[int, int]]:
        return [(int(at), int(str(event).split("|")[0])) for at, event in self._events(segment)]

    def _events(self, segment: int, stream: str = STREAM) -> list[list[int | str]]:
        runner = self.pravega._world.store.runner
        assert runner is not None
        name = segment_name(*split_scoped_name(stream), segment)
        return events_in(bytes(runner.storage.read(name, 0, runner.storage.info(name).length).data), 0)


def copied(way: str, story: Story, seed: int) -> Copying:
    """Run a story with a job that reads in this way; this takes about a second.

    Args:
        way: ``a``, ``b1``, ``b2``, ``b3``, ``c`` or ``d``: see docs/connector-flow.md.

    Raises:
        BadInputError: There is no such way.
    """
    return apart(lambda: Copying(way, story, seed))


def _named(act: str, numbers: list[str], known: Mapping[int, T]) -> list[T]:
    try:
        return [known[int(number)] for number in numbers]
    except (KeyError, ValueError):
        there = ", ".join(map(str, known))
        raise BadInputError(f"{act!r} names what is not there then; there are {there}") from None


def _row(event: bytes) -> Row:
    number, key = event.split(b"|")[:2]
    return {"n": int(number), "k": key.decode(), "bytes": len(event) + EVENT_HEADER_BYTES}
