"""What Flink's jobs and ours have in common to a script: a journal, and commands that answer."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from itertools import groupby

WAIT_S = 60


class RefusedError(Exception):
    """A command failed; the message says how, with its causes."""


class Lab(ABC):
    """One engine. A script begins with `new_case`; `start` empties the journal.

    ``journal``: (task[subtask]#attempt, what) in the order in which it was told. That order means something
    within a subtask only.
    """

    def __init__(self) -> None:
        self.journal: list[tuple[str, str]] = []

    @abstractmethod
    async def new_case(self) -> None:
        """All gates are shut."""

    @abstractmethod
    async def start(self, job: str, parallelism: int = 1, restore: str = "-") -> None:
        """Until every subtask runs.

        Raises:
            RefusedError: ``restore`` does not fit the job.
        """

    @abstractmethod
    async def open_gate(self, number: int) -> None:
        """Sources read on behind ``|number``."""

    @abstractmethod
    async def fail_at(self, pattern: str) -> None:
        """What matches next (``where what``) fails, once: an event, or one of those that are not told,
        ``operator.write`` (state, beside the subtask) and ``enumerator.snapshot n``."""

    @abstractmethod
    async def checkpoint(self) -> str:
        """Its folder.

        Raises:
            RefusedError: it failed.
        """

    @abstractmethod
    async def final_checkpoint(self) -> str:
        """The one that a job waits for when all its data has ended."""

    @abstractmethod
    async def savepoint(self) -> str: ...

    @abstractmethod
    async def stop(self, *, drain: bool, forbidden: bool = False) -> str:
        """The savepoint's folder. ``forbidden``: one that cannot be written.

        Raises:
            RefusedError: it failed.
        """

    @abstractmethod
    async def savepoint_left(self) -> str:
        """The folder of the savepoint that the last `stop` has left, also if that failed, or "-"."""

    @abstractmethod
    async def cancel(self) -> None: ...

    @abstractmethod
    async def wait(self) -> str:
        """The state in which the job ended."""

    @abstractmethod
    async def finished_subtasks(self) -> int:
        """As the job's master knows."""

    @abstractmethod
    async def metadata(self, folder: str) -> str:
        """Operators by uid: parallelism, whether finished, whether subtasks have state or finished."""

    # -- for scripts ---------------------------------------------------------------------------------------

    async def until(self, pattern: str, count: int = 1) -> None:
        """So many events (``where what``) match."""
        looked_for = re.compile(pattern)
        async with asyncio.timeout(WAIT_S):
            while sum(1 for event in self.journal if looked_for.search(" ".join(event))) < count:
                await asyncio.sleep(0.003)

    async def until_finished(self, count: int) -> None:
        """So many subtasks have finished."""
        async with asyncio.timeout(WAIT_S):
            while await self.finished_subtasks() < count:
                await asyncio.sleep(0.01)

    def lifecycle(self, without: str = "$^") -> list[str]:
        """The events of each subtask in their order; rows that follow on each other have no order.
        ``without``: a pattern of events that are left to chance."""
        lines, left_out = [], re.compile(without)
        for where in sorted({where for where, _ in self.journal}):
            lines.append(where)
            events = [what for place, what in self.journal if place == where and not left_out.search(what)]
            for is_row, run in groupby(events, lambda what: ".element " in what):
                found = list(run)
                lines.append("  " + ", ".join(sorted(found) if is_row else found))
        return lines

    def restored(self) -> list[str]:
        """What subtasks were given of a savepoint, with where."""
        return [f"{where} {what}" for where, what in self.journal if ".restored" in what]

    def committed(self) -> list[str]:
        """What the sinks committed, transaction by transaction."""
        return sorted(what for _, what in self.journal if "commit [" in what and "pre-commit" not in what)

    def rows(self, operator: str) -> str:
        """What an operator got, from all its subtasks."""
        mark = f"{operator}.element "
        return ", ".join(sorted(what.removeprefix(mark) for _, what in self.journal if what.startswith(mark)))
