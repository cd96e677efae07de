"""A job that copies a stream while stream, job and store fail: engine, store and reader group in one loop.

Rows are written with numbers that ascend per key. The stream is split and merged, subtasks die, the store is
killed, and the job resumes from its last checkpoint with another parallelism. In half of the runs the stream
is sealed while faults continue, and the job has to end by itself. Finally all faults end, and the output is
compared with the written rows: lost, doubled, out of order. For the command line: ``pravega-lab simulate
--scenario connector``. `table` compares all forms.
"""

from __future__ import annotations

import asyncio
import json
from itertools import count
from random import Random

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.values import ScalingPolicy
from pravega_lab.connector.flow import EventRows, GroupSettings, PravegaConfig, PravegaWriter, RowEvents
from pravega_lab.connector.simulation.forms import FORMS, Form, graph_of
from pravega_lab.connector.simulation.measures import Measures, Watch, position_bytes
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.simulation.flow.failures import JobFailures
from pravega_lab.engine.simulation.flow.scenario import size_of
from pravega_lab.engine.simulation.flow.world import FlowConditions, FlowFiles, FlowHost, FlowWire
from pravega_lab.engine.simulation.kernel.faults import EVERYTHING, Plan
from pravega_lab.engine.simulation.kernel.journal import Journal
from pravega_lab.engine.simulation.kernel.loop import SimulationLoop
from pravega_lab.engine.simulation.kernel.run import Result, run_story
from pravega_lab.engine.simulation.kernel.traffic import RULE, Size
from pravega_lab.engine.simulation.store.store_process import WALL_START_MS
from pravega_lab.engine.simulation.store.world import World, events_in
from pravega_lab.errors import PravegaError
from pravega_lab.portable.waiting import gather
from pravega_lab.protocol.names import READER_GROUP_PREFIX, segment_name, split_scoped_name

IN, OUT, GROUP = "sim/in", "sim/out", "sim/copy"
KEYS = 6
ROWS = 720  # minimum; more are written until the run has enough messages
WRITING_US = 3_000_000  # about the time to write these
END_WITHIN_S = 60.0
QUIET_S = 2.0  # for a form that may lose rows: wait after its group has nothing left
HOPELESS_S = 30.0  # for a form that must not: rows that are missing after this time are lost
SCENARIO = "connector"


class ConnectorWorld(World):
    """The stream, the group and the job of one seed, in all their lives."""

    def __init__(self, loop: SimulationLoop, journal: Journal, form: Form, size: Size, seals: bool) -> None:
        super().__init__(loop, journal)
        self.form, self.size, self.seals = form, size_of(loop.faults.plan, size), seals
        self.traffic = loop.network.traffic
        self.draw = chance = loop.random("connector")
        self.conditions = FlowConditions(delay_us_max=chance.choice((200, 2_000)))
        self.wire = FlowWire(loop, loop.random("wire"), self.conditions)
        self.host = FlowHost(loop)
        self.files = FlowFiles(loop.random("files"), self.conditions, switch=loop.faults)
        self.watch = Watch(self.now_ms)
        self._names = loop.random("names")
        self._clients = count()
        self.measures = Measures(form.letter)
        self.written: list[Row] = []
        self.config = PravegaConfig(connect=self._connect, clock_ms=lambda: WALL_START_MS + self.now_ms())
        self.settings = GroupSettings(
            self.config,
            GROUP,
            [IN],
            refresh_ms=chance.choice((50, 100)),  # far below the interval: see docs/connector-flow.md
            checkpoint_timeout_ms=1_000,
            read_timeout_ms=100,
            batch_bytes=chance.choice((100, 400)),
        )
        self.job_config = JobConfig(
            checkpoints=CheckpointConfig(
                interval_ms=chance.choice((400, 800)),
                timeout_ms=3_000,
                min_pause_ms=chance.choice((0, 30)),
                tolerable_failures=1_000_000,
            ),
            restart=FixedDelay(wait_ms=chance.choice((10, 100))),
            channel_capacity=chance.choice((2, 16)),
            claim=True,
        )
        self.job: Job

    def now_ms(self) -> int:
        """Return the virtual time in ms."""
        return self.loop.now_us // 1000

    def _connect(self, who: str) -> AsyncClient:
        # Clients with one name would draw the same writer ids, and the store would confuse them.
        return self.client(f"{who} {next(self._clients)}")

    def _unique(self) -> str:
        return f"{self._names.getrandbits(128):032x}"

    # -- the story -----------------------------------------------------------------------------------------

    async def run_job(self, rows: int) -> None:
        """Run the whole scenario."""
        await self.store.start()
        async with self.client("setup") as client:
            stream = await client.create_stream(IN, scaling=ScalingPolicy.fixed(self.draw.choice((1, 2, 3))))
            await stream.update(scaling=ScalingPolicy.by_event_rate(1_000_000_000, 2, 1))
            await client.create_stream(OUT)
        await self._start(None)
        writing = self.loop.create_task(self._write(rows), name="writer")
        times = self.loop.faults.plan.rounds(self.draw.choice((2, 3, 4)))
        scaling = self.loop.create_task(self._scale(times), name="scaler")
        await self._trouble(self.draw.choice((1.0, 2.0)))
        await self._go_on_elsewhere()
        await self._trouble(self.draw.choice((1.0, 2.0)), self.size.failures)
        await gather(writing, scaling)
        if self.seals:
            await self._seal()
        self.heal()
        if self.seals:
            await self._until_ended()
        else:
            await self._until_quiet()
            self.measures.position_bytes = position_bytes(self.job.latest_checkpoint, "source")
            await self.job.cancel()
        self._measure()
        self.store.crash()

    def heal(self) -> None:
        """End all faults of store, network and job."""
        self._heal()
        self.conditions.heal()

    async def _start(self, restore: str | None) -> None:
        sink = PravegaWriter(self.config, OUT, events=RowEvents(lambda row: json.dumps(row).encode(), "k"))
        graph = graph_of(
            self.form,
            self.settings,
            EventRows(self._read_row),
            lambda rows: rows.sink_to(sink, uid="sink", parallelism=self.draw.choice((1, 2))),
            self.draw.choice((1, 2, 3)),
        )
        self.job = Job(
            graph,
            self.job_config,
            restore_from=restore,
            files=self.files,
            observer=self.watch,
            wire=self.wire,
            host=self.host,
            now_ms=self.now_ms,
            unique_id=self._unique,
        )
        await self.job.start()

    def _read_row(self, event: bytes) -> Row:
        self.watch.read()
        row: Row = json.loads(event)
        return row

    async def _write(self, rows: int) -> None:
        async with self.client("writer") as client, client.stream(IN).writer() as writer:
            while (first := len(self.written)) < rows or self._is_too_small():
                stop = first + self.draw.choice((1, 5, 20))
                stop = min(stop, rows) if first < rows else stop
                burst = [{"k": f"k{n % KEYS}", "n": n} for n in range(first, stop)]
                await writer.write([json.dumps(row).encode() for row in burst], [row["k"] for row in burst])
                self.written += burst
                await asyncio.sleep(self.draw.randint(0, 2 * WRITING_US * len(burst) // rows) / 1e6)
            await writer.flush()

    def _is_too_small(self) -> bool:
        return self.traffic.messages < self.size.messages

    async def _scale(self, times: int) -> None:
        async with self.client("scaler") as client:
            stream = client.stream(IN)
            while self.measures.scales < times:
                await asyncio.sleep(self.draw.randint(0, 2 * WRITING_US // times) / 1e6)
                active = await stream.segments()
                try:
                    if len(active) > 1 and self.draw.random() < 0.5:
                        at = self.draw.randrange(len(active) - 1)
                        await stream.merge([segment.segment_id for segment in active[at : at + 2]])
                    else:
                        await stream.split(self.draw.choice(active).segment_id)
                except PravegaError as error:
                    self.journal.add("scaler", "failed", error=type(error).__name__)
                else:
                    self.measures.scales += 1

    # -- trouble -------------------------------------------------------------------------------------------

    async def _trouble(self, for_s: float, failures: int = 0) -> None:
        """Inject faults for some time, and until the job has had so many failures."""
        chance = self.draw
        self.conditions.slow_chance = chance.choice((0.0, 0.005, 0.02))
        self.network.conditions.cut_chance = chance.choice((0.0, 0.0, 0.005))
        end_us = self.loop.now_us + int(for_s * 1e6)
        fail = JobFailures(lambda: self.job, chance, self.loop.faults, self._failed)
        acts = [fail.kill, fail.kill, fail.fail_one, fail.fail_all, self._crash_store]
        while self.loop.now_us < end_us or self.watch.failures < failures:
            await asyncio.sleep(chance.randint(100_000, 1_000_000) / 1e6)
            await chance.choice(acts)()

    def _failed(self, how: str) -> None:
        self.crashes[how] += 1
        self.journal.add("world", how)
        self.watch.failed()

    async def _crash_store(self) -> None:
        down_s = self.draw.randint(0, 500_000) / 1e6
        if not self._happens("store crash"):
            return
        self.crashes["store crash"] += 1
        self.store.crash()
        await asyncio.sleep(down_s)
        await self.store.start()

    async def _go_on_elsewhere(self) -> None:
        """Cancel the job, and restore it from the last checkpoint with another parallelism."""
        while self.job.latest_checkpoint is None:
            await asyncio.sleep(0.1)
        if not self._happens("scaled job", part="job"):
            return
        self._failed("scaled job")
        await self.job.cancel()
        alive = [str(id) for id, e in self.job.master.executions.items() if not e.state.is_terminal]
        assert not alive, f"nothing of a cancelled job lives on: {alive}"
        latest = self.job.latest_checkpoint
        assert latest is not None
        await self._start(latest.path)

    # -- the end -------------------------------------------------------------------------------------------

    async def _seal(self) -> None:
        """Seal the stream, and inject faults while the job ends."""
        async with self.client("sealer") as client:
            await client.stream(IN).seal()
        await self._trouble(self.draw.choice((0.0, 1.0, 2.0)))

    async def _until_ended(self) -> None:
        """Wait until the job has finished by itself, and the store has carried out its last commits."""
        try:
            async with asyncio.timeout(END_WITHIN_S):
                await self.job.wait()
        except TimeoutError:
            raise self._waits_for_ever() from None
        ended_us = self.loop.now_us
        while not self._is_complete() and self.loop.now_us - ended_us < QUIET_S * 1e6:
            await asyncio.sleep(0.05)

    def _waits_for_ever(self) -> AssertionError:
        words = " ".join(self.job.explain())
        return AssertionError(f"nothing waits for ever: {words}\n{self.loop.waiting()}")

    async def _until_quiet(self) -> None:
        """Wait until all rows are there and two checkpoints followed, or until no more rows come."""
        began_us = quiet_us = self.loop.now_us
        length, completed = -1, self.watch.completed
        async with self.client("looks at the end") as client:
            group = self.config.group(client, GROUP)
            while self.loop.now_us - began_us < END_WITHIN_S * 1e6:
                await asyncio.sleep(0.2)
                if len(found := self._stored(OUT)) != length:
                    length, quiet_us, completed = len(found), self.loop.now_us, self.watch.completed
                if self.watch.completed < completed + 2:
                    continue
                quiet_s = (self.loop.now_us - quiet_us) / 1e6
                is_over = quiet_s > (HOPELESS_S if self.form.is_exactly_once else QUIET_S)
                if self._is_complete() or (is_over and await self._nothing_is_left(group)):
                    return
        raise self._waits_for_ever()

    async def _nothing_is_left(self, group: AsyncReaderGroup) -> bool:
        return not self.form.has_group or self.form.is_exactly_once or not await group.unread_bytes()

    def _stored(self, stream: str) -> bytes:
        """Return the bytes of a stream with one segment."""
        assert self.store.runner is not None
        storage, name = self.store.runner.storage, segment_name(*split_scoped_name(stream), 0)
        return bytes(storage.read(name, 0, storage.info(name).length).data)

    def _out(self) -> list[Row]:
        return [json.loads(str(event)) for _, event in events_in(self._stored(OUT), 0)]

    def _is_complete(self) -> bool:
        return len({row["n"] for row in self._out()}) == len(self.written)

    def _measure(self) -> None:
        measures = self.measures
        measures.compare(self.written, self._out())
        measures.recovery_ms = self.watch.recovery_ms
        measures.failures, measures.messages = self.watch.failures, self.traffic.messages
        if self.form.has_group:
            scope, group = split_scoped_name(GROUP)
            measures.group_updates = len(events_in(self._stored(f"{scope}/{READER_GROUP_PREFIX}{group}"), 0))


def run_connector(
    seed: int,
    letter: str | None = None,
    rows: int = ROWS,
    size: Size = RULE,
    *,
    seals: bool | None = None,
    plan: Plan = EVERYTHING,
) -> tuple[Result, Measures]:
    """Run one seed, and return its result and measurements. Errors are recorded in ``problems``.

    Args:
        letter: One of `forms.FORMS`. Without it the seed draws one that is exactly once and in order.
        rows: Minimum number of rows to write.
        size: The minimum size of the run, which continues until it is reached.
        seals: Whether the stream is sealed, so that the job ends by itself. None: the seed decides.
        plan: What happens of that which the seed draws. ``messages`` limits the rows, too.
    """
    sound = [form.letter for form in FORMS.values() if form.is_exactly_once and form.is_in_order]
    form = FORMS[letter or sound[seed % len(sound)]]
    measures = Measures(form.letter)
    if seals is None:
        seals = Random(f"{seed}/seals").random() < 0.5

    def tell(result: Result, loop: SimulationLoop) -> None:
        nonlocal measures
        world = ConnectorWorld(loop, result.journal, form, size, seals)
        try:
            loop.run_until_complete(
                world.run_job(min(rows, ROWS if plan.messages is None else plan.messages))
            )
        finally:
            measures = world.measures
            result.faults = world.faults + world.wire.faults
            result.traffic.failures, result.traffic.scales = world.watch.failures, measures.scales
        result.problems += measures.problems(form) + result.traffic.short_of(world.size)

    return run_story(seed, SCENARIO, tell, plan), measures
