"""Ends of a job's life at moments that random times hardly ever meet: in the middle of a recovery, and
between the completion of a checkpoint and the news of it.

Whether a run has them, and which, is drawn from a generator of their own: a run without them is the same as
if they did not exist.
"""

from __future__ import annotations

import asyncio
from random import Random

from pravega_lab.engine.flow.job import Job
from pravega_lab.engine.flow.restart import FixedDelay
from pravega_lab.engine.simulation.flow_checkers import Watcher
from pravega_lab.errors import PravegaError

IN_RUNS = 0.25
COMPLETION_S = 5.0  # so long a checkpoint is waited for
RECOVERY_US = 3_000  # after its wait for the restart: subtasks are stopped, then state is restored


class OddEnds:
    """One run's. A life of the job that is to be cancelled is brought to such a moment first."""

    def __init__(self, seed: int | str, watcher: Watcher) -> None:
        self._chance = Random(f"{seed}/odd ends")
        self._watcher = watcher
        self.are_drawn = self._chance.random() < IN_RUNS

    async def bring_about(self, job: Job) -> str:
        """Wait for the moment, and say which it is. The caller cancels the job in the same turn."""
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
        """Tasks have not heard of the checkpoint: what they pre-committed for it is in its state only."""
        completed = asyncio.Event()
        self._watcher.on_completed = completed.set
        try:
            async with asyncio.timeout(COMPLETION_S):
                await completed.wait()
        except TimeoutError:
            pass  # there is none in these troubles: any moment then
        finally:
            self._watcher.on_completed = lambda: None
