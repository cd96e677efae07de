"""The surroundings of a simulated job: wires that delay, hosts that die, files that are slow and fail."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass
from random import Random
from typing import Any

from pravega_lab.portable.waiting import FIRST_COMPLETED, wait

from ...flow.batch import Batch
from ...flow.elements import Barrier
from ...flow.files import MemoryFiles
from ...flow.master import failure_log
from ...flow.task.channels import Channel
from ..kernel.faults import Faults
from ..kernel.loop import SimulationLoop
from ..kernel.process import Process
from ..kernel.traffic import CALLS, CREDITS, ELEMENTS
from .oddities import Oddities, OddStorageError


def _is_of_a_real_job(record: logging.LogRecord) -> bool:
    """Return whether a line about a failure is for the log.

    Failures of simulated jobs are drawn or asked for, and the observers of these jobs show them.
    """
    try:
        return not isinstance(asyncio.get_running_loop(), SimulationLoop)
    except RuntimeError:
        return True


logging.getLogger(failure_log.__name__).addFilter(_is_of_a_real_job)


@dataclass
class FlowConditions:
    """The chances of faults, per message or per file. All faults end before the end of a run."""

    delay_us_max: int = 2_000
    slow_chance: float = 0.0
    slow_us_max: int = 200_000
    loss_chance: float = 0.0
    file_us_max: int = 3_000
    file_fail_chance: float = 0.0

    def heal(self) -> None:
        """End all faults."""
        self.slow_chance = self.loss_chance = self.file_fail_chance = 0.0


class FlowWire:
    """Delivers messages late and in order per lane.

    A delivery belongs to no process, so a message survives the process that sent it. The wire counts what is
    sent over each channel before each barrier, for the checker of cuts.
    """

    def __init__(self, loop: SimulationLoop, chance: Random, conditions: FlowConditions) -> None:
        self._loop, self._chance, self._conditions = loop, chance, conditions
        self._lanes: dict[str, int] = {}
        self.faults: Counter[str] = Counter()
        self._switch = loop.faults
        self._carried = loop.network.traffic.carried
        self.sent: dict[Channel, int] = {}
        self.before_barrier: dict[Channel, dict[int, int]] = {}

    def data(self, lane: str, deliver: Callable[..., None], *args: object) -> None:
        """Send an element along a channel, and count its records."""
        channel, [element] = deliver.__self__, args  # type: ignore[attr-defined]
        if isinstance(element, Batch):
            self.sent[channel] = self.sent.get(channel, 0) + element.num_rows
        elif isinstance(element, Barrier):
            marks = self.before_barrier.setdefault(channel, {})
            marks.setdefault(element.checkpoint_id, self.sent.get(channel, 0))
        self._send(lane, ELEMENTS, deliver, args)

    def call(self, lane: str, deliver: Callable[..., None], *args: object, may_be_lost: bool = False) -> None:
        """Send a message that is not an element. With ``may_be_lost`` a drawn fault may lose it."""
        is_lost = may_be_lost and self._chance.random() < self._conditions.loss_chance
        if is_lost and self._switch.happens("wire", "lost message", lane):
            self.faults["lost message"] += 1
            return
        self._send(lane, CREDITS if lane.endswith("<") else CALLS, deliver, args)

    def _send(self, lane: str, kind: str, deliver: Callable[..., None], args: tuple[object, ...]) -> None:
        delay_us = self._chance.randint(0, self._conditions.delay_us_max)
        if self._conditions.slow_chance and self._chance.random() < self._conditions.slow_chance:
            slow_us = self._chance.randint(0, self._conditions.slow_us_max)
            if self._switch.happens("wire", "slow message", lane):
                self.faults["slow message"] += 1
                delay_us += slow_us
        at_us = max(self._loop.now_us + delay_us, self._lanes.get(lane, 0))
        self._lanes[lane] = at_us
        self._loop.call_at_us(at_us, self._arrive, kind, deliver, args, context=Context())

    def _arrive(self, kind: str, deliver: Callable[..., None], args: tuple[object, ...]) -> None:
        self._carried[kind] += 1
        deliver(*args)


class _Hosted:
    """One attempt of a subtask, in its own process."""

    def __init__(self, process: Process, task: asyncio.Task[None]) -> None:
        self.process, self._task = process, task

    async def stop(self) -> None:
        if self.process.alive and not self._task.done():
            self._task.cancel()
            gone = asyncio.get_running_loop().create_future()
            self.process.at_death(lambda: None if gone.done() else gone.set_result(None))
            await wait([self._task, gone], return_when=FIRST_COMPLETED)
        self.process.kill()


class FlowHost:
    """Runs each attempt of a subtask in a process that can be killed."""

    def __init__(self, loop: SimulationLoop) -> None:
        self._loop = loop
        self.running: dict[str, _Hosted] = {}

    def start(self, name: str, coro: Coroutine[Any, Any, None]) -> _Hosted:
        """Run an attempt in a new process."""
        process = self._loop.spawn_process(name)
        hosted = _Hosted(process, process.spawn(coro, name=name))
        self.running = {n: h for n, h in self.running.items() if h.process.alive}
        self.running[name] = hosted
        return hosted

    def take_turn(self) -> None:
        """Let everything else that is ready run first."""
        return


class FlowFiles(MemoryFiles):
    """Files in memory that take time and fail. A write is complete; one that raises may have
    happened or not.
    """

    def __init__(
        self,
        chance: Random,
        conditions: FlowConditions,
        oddities: Oddities | None = None,
        switch: Faults | None = None,
    ) -> None:
        super().__init__()
        self._switch = switch or Faults()
        self._chance, self._conditions, self._oddities = chance, conditions, oddities
        self.faults: Counter[str] = Counter()

    async def _take_time(self, what: str, path: str) -> Exception | None:
        """Wait, and return the error of the call, None if it succeeds."""
        await asyncio.sleep(self._chance.randint(0, self._conditions.file_us_max) / 1e6)
        fail_chance = self._conditions.file_fail_chance
        is_drawn = fail_chance and self._chance.random() < fail_chance
        if is_drawn and self._switch.happens("files", "failed file", f"{what} {path}"):
            self.faults["failed file"] += 1
            return OSError(5, f"the {what} failed", path)
        return self._oddities.at_storage(path) if self._oddities is not None else None

    async def write(self, path: str, data: bytes) -> None:
        error = await self._take_time("write", path)
        if error is None or self._chance.random() < 0.5:
            await super().write(path, data)
        if error is not None:
            raise error

    async def read(self, path: str) -> bytes:
        if error := await self._take_time("read", path):
            raise error
        return await super().read(path)

    async def rename(self, path: str, to: str) -> None:
        error = await self._take_time("rename", path)
        if error is None or self._chance.random() < 0.5:
            await super().rename(path, to)
        if error is not None:
            raise error

    async def delete(self, path: str) -> None:
        await self._delete(path, super().delete)

    async def delete_folder(self, folder: str) -> None:
        await self._delete(folder, super().delete_folder)

    async def _delete(self, path: str, delete: Callable[[str], Awaitable[None]]) -> None:
        error = await self._take_time("delete", path)
        await delete(path)
        # What a sink's close() raises is logged as a warning, which would count as a problem of the run.
        if isinstance(error, OddStorageError) and "/.pending/" not in path:
            raise error
