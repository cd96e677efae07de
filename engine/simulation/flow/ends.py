"""`OddEnds`: cancellations of a job at times that random draws rarely meet.

One is in the middle of a recovery. The other is after a checkpoint completed, and before its tasks are
notified.

A separate random generator draws whether a run has such ends, and which. A run without them is the same as if
they did not exist.
"""

from __future__ import annotations

import asyncio
from random import Random

from pravega_lab.errors import PravegaError

from ...flow.master.job import Job
from ...flow.master.restart import FixedDelay
from .checkers import Watcher

IN_RUNS = 0.25
COMPLETION_S = 5.0  # how long to wait for a checkpoint
RECOVERY_US = 3_000  # after the restart delay, in which subtasks are stopped and then state is restored


class OddEnds:
    """Brings a job that is about to be cancelled to such a time, in some runs."""

    def __init__(self, chance: Random, watcher: Watcher) -> None:
        self._chance = chance
        self._watcher = watcher
        self.are_drawn = self._chance.random() < IN_RUNS

    async def bring_about(self, job: Job) -> str:
        """Wait for a drawn time, and return what it is. The caller then cancels the job without an await."""
        if self._chance.random() < 0.5:
            await self._in_recovery(job)
            return "cancelled in recovery"
        await self._after_completion()
        return "cancelled after a checkpoint"

    async def _in_recovery(self, job: Job) -> None:
        restart = job.config.restart
        assert isinstance(restart, FixedDelay)
        job.master.fail_globally(PravegaError("an enumerator raised"))
        job.master.act()
        await asyncio.sleep(restart.wait_ms / 1000 + self._chance.randint(0, RECOVERY_US) / 1e6)

    async def _after_completion(self) -> None:
        """Wait until a checkpoint completes, but its tasks are not notified.

        Their pre-committed transactions are then only in the state of the checkpoint.
        """
        completed = asyncio.Event()
        self._watcher.on_completed = completed.set
        try:
            async with asyncio.timeout(COMPLETION_S):
                await completed.wait()
        except TimeoutError:
            pass  # no checkpoint completes with these faults, so cancel at any time
        finally:
            self._watcher.on_completed = lambda: None
