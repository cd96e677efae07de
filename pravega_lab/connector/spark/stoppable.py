"""A running query that can be brought to rest and stopped: of this process, or of a submitted driver."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Protocol

from ...errors import BadInputError
from .checkpoint import Checkpoint, local_path
from .driver import Driver
from .gate import HOLD_FOLDER_VARIABLE


class Stoppable(Protocol):
    """``name``: of messages. ``hold_folder``: where its source looks for holds."""

    name: str
    checkpoint: Checkpoint
    hold_folder: Path

    def held(self) -> None:
        """From now on its source is held."""

    @property
    def is_idle(self) -> bool:
        """Is no trigger active, or has one found nothing to do since the source is held?"""

    @property
    def has_ended(self) -> bool:
        """It does not run any more, in good order."""

    @property
    def failure(self) -> str:
        """Why it ended; "" while it runs, and after an end in good order."""

    def stop(self) -> None:
        """End it now, whatever it does."""


def stoppable(query: Any) -> Stoppable:
    """
    Raises:
        BadInputError: it is no query, does not run, or keeps its checkpoint elsewhere.
    """
    if isinstance(query, Driver):
        return SubmittedQuery(query)
    if hasattr(query, "_jsq") and hasattr(query, "isActive"):
        return OwnQuery(query)
    raise BadInputError(
        f"stop_with_savepoint() takes a running StreamingQuery or what lab.submit() gave, not a "
        f"{type(query).__name__}"
    )


def _checkpoint(name: str, location: str) -> Checkpoint:
    return Checkpoint(local_path(location, f"{name}: its checkpoint has to be in a folder"))


class OwnQuery:
    """A ``StreamingQuery`` of this process."""

    def __init__(self, query: Any) -> None:
        self._query = query
        self.name = f"query {query.name or query.id}"
        if not query.isActive:
            raise BadInputError(
                f"{self.name} does not run: start it, or copy the checkpoint of one that ended by itself"
            )
        location = str(query._jsq.streamingQuery().resolvedCheckpointRoot())
        self.checkpoint = _checkpoint(self.name, location)
        if self.checkpoint.path.name.startswith("temporary-"):
            raise BadInputError(
                f"{self.name} has no checkpointLocation: Spark deletes what it keeps when it stops. Start it "
                f"with .option('checkpointLocation', <folder>)"
            )
        folder = os.environ.get(HOLD_FOLDER_VARIABLE)
        if not folder:
            raise BadInputError(
                f"the sources of {self.name} look for no holds: create_session() did not make its session. "
                f"Set {HOLD_FOLDER_VARIABLE} to a folder before Spark starts, or call query.stop() and run "
                f"it once with trigger(availableNow=True)"
            )
        self.hold_folder = Path(folder)

    def held(self) -> None:
        return

    @property
    def is_idle(self) -> bool:
        return self.has_ended or not self._query.status["isTriggerActive"]

    @property
    def has_ended(self) -> bool:
        return not self._query.isActive

    @property
    def failure(self) -> str:
        if self._query.isActive:
            return ""
        found = self._query.exception()
        return str(found).splitlines()[0] if found is not None else ""

    def stop(self) -> None:
        self._query.stop()


class SubmittedQuery:
    """The query of a driver process; Spark's reports in its progress file say when it has nothing to do."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.name = f"the query of {driver.command[1]}"
        if not driver.alive:
            raise BadInputError(f"{self.name} does not run: call start() on its driver")
        if driver.checkpoint is None:
            raise BadInputError(
                f"where {self.name} keeps its checkpoint is not known here: set driver.checkpoint to it"
            )
        self.checkpoint = _checkpoint(self.name, str(driver.checkpoint))
        self.hold_folder = driver.hold_folder
        self._since_ms = 0

    def held(self) -> None:
        self._since_ms = time.time_ns() // 1_000_000

    def _told(self, kind: str) -> list[dict[str, Any]]:
        lines = (line for line in self._driver.lines() if line.get("id") == self.checkpoint.query_id)
        return [line for line in lines if line["kind"] == kind and line["at_ms"] >= self._since_ms]

    @property
    def is_idle(self) -> bool:
        return self.has_ended or bool(self._told("idle"))

    @property
    def has_ended(self) -> bool:
        return bool(self._told("terminated"))

    @property
    def failure(self) -> str:
        reasons = [line["exception"] for line in self._told("terminated") if line["exception"]]
        if reasons:
            return str(reasons[-1]).splitlines()[0]
        if not self._driver.alive and not self.has_ended:
            return f"its process has ended; see {self._driver.log_file}"
        return ""

    def stop(self) -> None:
        self._driver.kill()
