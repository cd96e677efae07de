"""Our engine as a `world.Lab`: plain asyncio in this process, state in memory."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from contextlib import suppress

from pravega_lab.engine.flow.checkpoint import metadata
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.checkpoint.storage import METADATA
from pravega_lab.engine.flow.errors import JobError
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.flow.sink.committers import WRITER_STATE
from pravega_lab.engine.flow.state.handles import OperatorState, SubtaskState
from pravega_lab.engine.flow.subtask_states import SubtaskState as Life
from pravega_lab.errors import PravegaError
from tests.conformance.flink.jobs import Happenings, Jobs, PlantedError
from tests.conformance.flink.world import WAIT_S, Lab, RefusedError

FORBIDDEN = "forbidden"
_LIVE = (Life.RUNNING, Life.FINISHED)


def _causes(error: BaseException) -> str:
    here = f"{type(error).__name__}: {error}"
    return here if error.__cause__ is None else f"{here} <- {_causes(error.__cause__)}"


async def _answer(given: Awaitable[str]) -> str:
    try:
        return await asyncio.wait_for(given, WAIT_S)
    except PravegaError as error:
        raise RefusedError(_causes(error)) from error


class FragileFiles(MemoryFiles):
    """Writing an operator's state fails where the script asked for it, and always below ``forbidden``."""

    def __init__(self, seen: Happenings) -> None:
        super().__init__()
        self._seen = seen

    async def write(self, path: str, data: bytes) -> None:
        if path.startswith(FORBIDDEN):
            raise PermissionError(f"{path} is forbidden")
        try:
            self._seen.check("", f"{path.rpartition('/')[2].partition('-')[0]}.write")
        except PlantedError as error:
            raise OSError("planted") from error
        await super().write(path, data)


class OurLab(Lab):
    def __init__(self) -> None:
        super().__init__()
        self._seen = Happenings(self.journal)
        self._files = FragileFiles(self._seen)
        self._folders = 0
        self._uids: list[str | None] = []
        self._job: Job
        self._last = ""

    def _folder(self, kind: str) -> str:
        self._folders += 1
        return f"{kind}-{self._folders}"

    async def new_case(self) -> None:
        self._seen.gates.clear()
        self._seen.may_fail, self._seen.to_fail = True, []

    async def start(self, job: str, parallelism: int = 1, restore: str = "-") -> None:
        self.journal.clear()
        config = JobConfig(
            CheckpointConfig(retain=100, tolerable_failures=100),
            restart=FixedDelay(attempts=3, wait_ms=10),
            folder=self._folder("checkpoints"),
        )
        jobs = Jobs(self._seen, parallelism)
        graph = jobs.graph(job)
        self._uids = jobs.uids
        self._job = Job(graph, config, restore_from=None if restore == "-" else restore, files=self._files)
        try:
            await self._job.start()
        except PravegaError as error:
            raise RefusedError(_causes(error)) from error
        async with asyncio.timeout(WAIT_S):
            while any(e.state not in _LIVE for e in self._job.master.executions.values()):
                await asyncio.sleep(0.001)

    async def open_gate(self, number: int) -> None:
        self._seen.gate(number).set()

    async def checkpoint(self) -> str:
        async def taken() -> str:
            return (await self._job.trigger_checkpoint()).path

        return await _answer(taken())

    async def final_checkpoint(self) -> str:
        return await self.checkpoint()

    async def savepoint(self) -> str:
        return await _answer(self._job.trigger_savepoint(self._folder("savepoint")))

    async def fail_at(self, pattern: str) -> None:
        self._seen.to_fail.append(re.compile(pattern))

    async def stop(self, *, drain: bool, forbidden: bool = False) -> str:
        self._last = self._folder(FORBIDDEN if forbidden else "savepoint")
        return await _answer(self._job.stop_with_savepoint(self._last, drain=drain))

    async def savepoint_left(self) -> str:
        return self._last if METADATA in await self._files.names(self._last) else "-"

    async def cancel(self) -> None:
        await self._job.cancel()

    async def wait(self) -> str:
        async with asyncio.timeout(WAIT_S):
            with suppress(JobError):  # how it failed was told to whoever stopped it
                await self._job.wait()
        return self._job.state

    async def finished_subtasks(self) -> int:
        states = [execution.state for execution in self._job.master.executions.values()]
        return states.count(Life.FINISHED)

    async def metadata(self, folder: str) -> str:
        checkpoint = await metadata.load(self._files, folder)
        states = [state for state in checkpoint.operators.values() if state.operator_id in self._uids]
        return "; ".join(sorted(_describe(state) for state in states))


def _has_state(subtask: SubtaskState) -> bool:
    """A writer without state has an empty list here, and nothing in Flink."""
    lists = [name for name, found in subtask.lists.items() if found.elements or name != WRITER_STATE]
    return bool(subtask.keyed or lists)


def _describe(state: OperatorState) -> str:
    subtasks = dict.fromkeys(state.finished, "finished")
    subtasks |= {index: "state" for index, subtask in state.subtasks.items() if _has_state(subtask)}
    held = ", ".join(f"{index}={what}" for index, what in sorted(subtasks.items()))
    finished = " fully finished" if state.is_fully_finished else ""
    return f"{state.operator_id} of {state.parallelism}{finished} {{{held}}}"
