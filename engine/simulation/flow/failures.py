"""Failures of a simulated job: a process dies, a function of a user raises, an enumerator raises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from pravega_lab.errors import PravegaError

from ...flow.elements import SubtaskId
from ...flow.master.job import Job
from ..kernel.faults import Faults


class FlowFailure(PravegaError):
    """Raised by an injected fault."""


class JobFailures:
    """Fails parts of a job, if the plan of the run does not leave the failure out.

    Args:
        job: Returns the job in its present life.
        note: Is called with the kind of each failure before it happens.
    """

    def __init__(
        self, job: Callable[[], Job], chance: Random, faults: Faults, note: Callable[[str], None]
    ) -> None:
        self._job, self._chance, self._faults, self._note = job, chance, faults, note

    def _happens(self, kind: str, about: str = "") -> bool:
        happens = self._faults.happens("job", kind, about)
        if happens:
            self._note(kind)
        return happens

    async def kill(self) -> None:
        """Kill the process of a subtask. The job master notices it later."""
        executions = self._job().master.executions
        alive = [(id, e) for id, e in executions.items() if e.running is not None and not e.state.is_terminal]
        if not alive:
            return
        id, execution = self._chance.choice(alive)
        attempt = execution.attempt
        happens = self._happens("killed subtask", str(id))
        if happens:
            execution.running.process.kill()  # type: ignore[union-attr]
        await asyncio.sleep(self._chance.randint(0, 100_000) / 1e6)
        if happens:
            self._job().subtask_lost(id, attempt, FlowFailure("its process is gone"))

    async def fail_one(self) -> None:
        """Let a function of a user raise in a subtask."""
        id: SubtaskId = self._chance.choice(list(self._job().master.executions))
        if self._happens("failed subtask", str(id)):
            self._job().fail_subtask(id, FlowFailure("a user's function raised"))

    async def fail_all(self) -> None:
        """Let an enumerator raise, which fails the whole job."""
        if self._happens("global failure"):
            self._job().master.fail_globally(FlowFailure("an enumerator raised"))
            self._job().master.act()
