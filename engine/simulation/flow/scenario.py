"""Runs of random jobs: subtasks die, files fail, messages are late or lost, the job is scaled and stopped.

Everything is drawn from the seed. After a while all faults end and the job finishes. The content of its sinks
is compared with a model that knows nothing of streams. For the command line: ``pravega-lab simulate
--scenario flow``.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from pravega_lab.portable.waiting import wait_for

from ...flow.checkpoint.coordinator import CheckpointConfig
from ...flow.errors import CheckpointFailedError, JobError, RestoreError
from ...flow.master.config import JobConfig
from ...flow.master.job import Job
from ...flow.master.restart import FixedDelay
from ...flow.source.input import SourceInput
from ...flow.subtask_states import SubtaskState
from ..kernel.faults import EVERYTHING, Plan
from ..kernel.journal import Journal
from ..kernel.loop import SimulationLoop
from ..kernel.run import Result, run_story
from ..kernel.traffic import RULE, Size
from .bugs import FLOW_BUGS
from .checkers import Watcher, compare
from .ends import OddEnds
from .failures import JobFailures
from .oddities import Oddities, OddStorageError
from .program import OUT, Program
from .sink import CommittedTable
from .world import FlowConditions, FlowFiles, FlowHost, FlowWire

T = TypeVar("T")
END_WITHIN_S = 30.0
ENOUGH_WITHIN_S = 120.0  # time limit for reaching the minimum size; a smaller run violates the rule


class FlowWorld:
    """The job of one seed, in all its lives."""

    make_program: type[Program] = Program

    def __init__(self, loop: SimulationLoop, journal: Journal, size: Size = RULE) -> None:
        self.loop, self.journal, self.size = loop, journal, size_of(loop.faults.plan, size)
        self.chance = chance = loop.random("flow")
        self.conditions = FlowConditions()
        self.wire = FlowWire(loop, loop.random("wire"), self.conditions)
        self.host = FlowHost(loop)
        self.oddities = Oddities(loop.random("oddities"), loop.faults)
        self.files = FlowFiles(loop.random("files"), self.conditions, self.oddities, loop.faults)
        self.table = CommittedTable(loop.random("table"), loop.faults)
        self.traffic = loop.network.traffic
        self._allowed = 0  # number of messages after which sources withhold their rows
        self.program = self.make_program(
            chance,
            self.files,
            self.table,
            lambda: self.traffic.messages < self._allowed,
            self.oddities,
        )
        self.watcher = Watcher(journal, self.wire, self.files)
        self.odd_ends = OddEnds(loop.random("odd ends"), self.watcher)
        self.faults: Counter[str] = Counter()
        self._names = loop.random("names")
        self._calm = False
        self._savepoints = 0
        self.job: Job
        self.config = JobConfig(
            checkpoints=CheckpointConfig(
                interval_ms=chance.choice((100, 200, 400)),
                timeout_ms=chance.choice((500, 2_000, 8_000)),
                min_pause_ms=chance.choice((0, 0, 30)),
                max_concurrent=chance.choice((1, 1, 2, 3)),
                tolerable_failures=chance.choice((0, 3, 1000)),
                retain=chance.choice((1, 2)),
            ),
            restart=FixedDelay(wait_ms=chance.choice((10, 100))),
            channel_capacity=chance.choice((1, 2, 8, 64)),
            # a legacy source cannot take the full checkpoint that restoring without claim needs
            claim=self.program.has_legacy_induced,
        )

    def _unique(self) -> str:
        return f"{self._names.getrandbits(128):032x}"

    def _pause_ms(self) -> int:
        return 0 if self._calm else self.chance.choice((0, 1, 1, 5, 20))

    def _happens(self, kind: str, about: str = "") -> bool:
        return self.loop.faults.happens("job", kind, about)

    # -- the story -----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run the whole scenario."""
        lives = self.chance.choice((1, 2, 3)) if not self.program.is_endless else 3
        restore: str | None = None
        is_started = False
        for life in range(1, lives):
            if not is_started:
                await self._start(restore)
            self._allowed = self.size.messages * life // lives
            await self._trouble(self.chance.choice((0.3, 0.6, 1.0)))
            is_started = not self._happens("scaled")
            if not is_started:
                restore = await self._interrupt()
                self.faults["scaled"] += 1
        if not is_started:
            await self._start(restore)
        self._allowed = self.size.messages * 4 // 5  # barriers and repeated records are messages too
        await self._trouble(self.chance.choice((0.5, 1.0)))
        self._allowed = self.size.messages
        await self._trouble(ENOUGH_WITHIN_S, until_enough=True)
        self._close_feeds()
        await self._trouble(self.chance.choice((0.0, 0.3, 0.8)))
        self._heal()
        await self._come_to_an_end()
        await self._check()

    async def _start(self, restore: str | None) -> None:
        for is_last in (False, True):
            before = [node.parallelism for node in self.program.nodes]
            if restore is not None and not is_last:
                self.program.rescale()
            self.job = Job(
                self.program.graph(self._pause_ms),
                replace(self.config, folder=f"checkpoints-{self._unique()[:6]}"),
                restore_from=restore,
                files=self.files,
                observer=self.watcher,
                wire=self.wire,
                host=self.host,
                now_ms=lambda: self.loop.now_us // 1000,
                unique_id=self._unique,
            )
            self.watcher.begin(self.job, is_exactly_once=True)
            try:
                await self._until_started()
                break
            except RestoreError:
                # A job with partly finished operators may refuse other edges. The old parallelism always
                # fits.
                assert not is_last, "a job is not restored from its own savepoint"
                for node, parallelism in zip(self.program.nodes, before, strict=True):
                    node.parallelism = parallelism
                self.faults["not rescalable"] += 1

    async def _until_started(self) -> None:
        while True:
            try:
                await self.job.start()
                return
            except (OSError, OddStorageError):
                await asyncio.sleep(0.1)  # the read failed, so try again

    async def _trouble(self, for_s: float, *, until_enough: bool = False) -> None:
        """Inject faults for some time, or until the run is large enough or the job is over."""
        chance, conditions = self.chance, self.conditions
        conditions.slow_chance = chance.choice((0.0, 0.005, 0.02))
        conditions.loss_chance = chance.choice((0.0, 0.0, 0.01, 0.05))
        conditions.file_fail_chance = chance.choice((0.0, 0.0, 0.01))
        self.table.retry_chance = chance.choice((0.0, 0.2))
        end_us = self.loop.now_us + int(for_s * 1e6)
        fail = JobFailures(lambda: self.job, chance, self.loop.faults, self._note)
        acts = (fail.kill, fail.kill, fail.fail_one, fail.fail_all, self._savepoint)
        while self.loop.now_us < end_us and not (until_enough and not self._is_too_small()):
            await asyncio.sleep(chance.randint(50_000, 500_000) / 1e6)
            if self.job.state in ("finished", "failed"):
                return
            await chance.choice(acts)()

    def _is_too_small(self) -> bool:
        return self.traffic.messages < self.size.messages or self.watcher.failures < self.size.failures

    def _close_feeds(self) -> None:
        for feed in self.program.feeds:
            feed.close()
        self.journal.add("world", "input ends")

    def _note(self, kind: str) -> None:
        self.faults[kind] += 1

    async def _savepoint(self) -> None:
        if not self._happens("savepoint"):
            return
        self.faults["savepoint"] += 1
        self._savepoints += 1
        asked = asyncio.ensure_future(self.job.trigger_savepoint(f"savepoints/{self._savepoints}"))
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _interrupt(self) -> str | None:
        """End this life of the job, and return the path from which the next restores."""
        if self.odd_ends.are_drawn and self._happens("odd end"):
            self.faults[await self.odd_ends.bring_about(self.job)] += 1
        elif (savepoint := await self._stop()) is not None:
            return savepoint
        await self.job.cancel()
        self.watcher.check_cancelled(self.job)
        latest = self.job.latest_checkpoint
        if latest is not None:
            return latest.path
        return self.job._restore_from

    async def _stop(self) -> str | None:
        """Stop the job with a savepoint and return its path, or None if that fails."""
        for _ in range(self.chance.choice((0, 3)) if not self.program.has_legacy_induced else 0):
            try:
                self._savepoints += 1
                stopping = self.job.stop_with_savepoint(f"savepoints/{self._savepoints}", drain=False)
                return await self._ends(stopping, "a stop with savepoint has not ended")
            except (CheckpointFailedError, JobError, OSError, OddStorageError):
                # the job failed while stopping, after the savepoint was complete
                if self.job.state == "failed":
                    stop = self.job.master.stop
                    assert stop is not None
                    assert stop.path is not None
                    return stop.path
                await asyncio.sleep(0.5)
        return None

    def _heal(self) -> None:
        self._calm = True
        self.conditions.heal()
        self.oddities.heal()
        self.table.retry_chance = 0.0
        self.journal.add("world", "healed")

    # -- the end -------------------------------------------------------------------------------------------

    async def _come_to_an_end(self) -> None:
        await self._ends(self._end(), "all was well, and the job is not done")

    async def _ends(self, what: Coroutine[Any, Any, T], otherwise: str) -> T:
        try:
            return await wait_for(what, END_WITHIN_S)
        except TimeoutError:
            words = " ".join(self.job.explain())
            raise AssertionError(
                f"nothing waits for ever: for {END_WITHIN_S:g} s {otherwise}. {words}\n{self.loop.waiting()}"
            ) from None

    async def _end(self) -> None:
        if self.program.has_legacy_induced:
            while await self._problems_of_sinks():
                await asyncio.sleep(0.5)
            await asyncio.sleep(2)
            await self.job.cancel()
        elif self.program.is_endless:
            await self._drain()
        else:
            while True:
                try:
                    await self.job.wait()
                    return
                except JobError as error:
                    raise AssertionError(f"the job failed: {error}") from error

    async def _drain(self) -> None:
        while True:
            await asyncio.sleep(0.1)
            if not self._is_exhausted():
                continue
            try:
                self._savepoints += 1
                await self.job.stop_with_savepoint(f"savepoints/{self._savepoints}", drain=True)
                return
            except CheckpointFailedError:
                continue

    def _is_exhausted(self) -> bool:
        """Return whether all sources have emitted all their rows, with all subtasks running."""
        master = self.job.master
        logs = [node.params["log"] for node in self.program.nodes if "log" in node.params]
        if self.job.state != "running" or not all(log.is_exhausted for log in logs):
            return False
        for execution in master.executions.values():
            if execution.state not in (SubtaskState.RUNNING, SubtaskState.FINISHED):
                return False
            subtask = execution.subtask
            if subtask is not None and isinstance(subtask.input, SourceInput):
                reader = subtask.input._operator.reader
                if not getattr(reader, "is_exhausted", True) and not subtask.has_data_ended:
                    return False
        return True

    def _committed(self, sink: str) -> Counter[tuple[int, int]]:
        number = sink.rpartition("-")[2]
        if sink.startswith("table"):
            return self.table.rows(sink)
        found: Counter[tuple[int, int]] = Counter()
        for path, data in self.files.data.items():
            if path.startswith(f"{OUT}-{number}/part-"):
                found.update((row["k"], row["v"]) for row in map(json.loads, data.decode().splitlines()))
        return found

    async def _problems_of_sinks(self) -> list[str]:
        expected = self.program.expected()
        return [p for sink, rows in expected.items() for p in compare(sink, rows, self._committed(sink))]

    async def _check(self) -> None:
        problems = self.watcher.problems
        problems += await self._problems_of_sinks()
        problems += self.watcher.check_all()
        for checkpoint in self.job.master.coordinator.store.checkpoints:
            problems += self.watcher.check_files(checkpoint)


def size_of(plan: Plan, size: Size) -> Size:
    """Return the minimum size of a run with this plan. Without faults there are no failures to wait for."""
    messages = size.messages if plan.messages is None else plan.messages
    return size if plan == EVERYTHING else Size(messages)


def run_flow(
    seed: int,
    bug: str | None = None,
    plan: Plan = EVERYTHING,
    *,
    size: Size = RULE,
    scenario: str = "flow",
    make_world: type[FlowWorld] = FlowWorld,
) -> Result:
    """Run one seed and return its result. Errors are recorded in ``problems`` and not raised.

    Args:
        bug: One of `bugs.FLOW_BUGS`, planted for this run.
        plan: What happens of that which the seed draws.
        size: The minimum size of the run, which continues until it is reached.
        scenario: The name of the scenario, for the result.
        make_world: The class of its world.
    """

    def tell(result: Result, loop: SimulationLoop) -> None:
        _tell(make_world(loop, result.journal, size), result)

    return run_story(seed, scenario, tell, plan, FLOW_BUGS[bug] if bug is not None else None)


def _tell(world: FlowWorld, result: Result) -> None:
    try:
        world.loop.run_until_complete(world.run())
    finally:
        result.problems += world.watcher.problems
        result.faults = world.faults + world.wire.faults + world.files.faults + world.oddities.faults
        result.traffic.failures = world.watcher.failures
        result.journal.add("world", "messages", **dict(sorted(result.traffic.carried.items())))
    result.problems += result.traffic.short_of(world.size)
