"""Running queries that can be held and stopped: a query of this process, or one of a submitted driver."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Protocol

from pravega_lab.connector.spark.checkpoint import Checkpoint, local_path
from pravega_lab.connector.spark.session.connect import is_connect
from pravega_lab.connector.spark.session.driver import Driver
from pravega_lab.connector.spark.source.hold import HOLD_FOLDER_VARIABLE
from pravega_lab.errors import BadInputError


class Stoppable(Protocol):
    """A query that `stop_with_savepoint` can stop.

    ``name`` is for messages. ``hold_folder`` is the folder in which its source looks for holds.
    """

    name: str
    checkpoint: Checkpoint
    hold_folder: Path

    def held(self) -> None:
        """Note that the source of the query is held from now on."""

    @property
    def is_idle(self) -> bool:
        """Whether no trigger is active, or a trigger found nothing to do since the source is held."""

    @property
    def has_ended(self) -> bool:
        """Whether the query has ended without an error."""

    @property
    def failure(self) -> str:
        """Why the query failed; "" while it runs and after an end without an error."""

    def stop(self) -> None:
        """Stop the query at once, even in the middle of a batch."""


def stoppable(query: Any, checkpoint: str | Path | None = None) -> Stoppable:
    """Return ``query`` with the operations that `stop_with_savepoint` needs.

    Args:
        checkpoint: The checkpoint folder of a query of Spark Connect.

    Raises:
        BadInputError: ``query`` is neither a query nor a driver, does not run, or has no checkpoint in a
            local folder.
    """
    if is_connect(query) and hasattr(query, "isActive"):
        return ConnectQuery(query, checkpoint)
    if checkpoint is not None:
        raise BadInputError(
            "stop_with_savepoint(checkpoint=…) is for queries of Spark Connect. Leave it out: Spark knows "
            "the folder of a query of this process, and that of a driver is driver.checkpoint"
        )
    if isinstance(query, Driver):
        return SubmittedQuery(query)
    if hasattr(query, "_jsq") and hasattr(query, "isActive"):
        return OwnQuery(query)
    raise BadInputError(
        f"stop_with_savepoint() takes a running StreamingQuery or the driver of lab.submit(), not a "
        f"{type(query).__name__}"
    )


def _checkpoint(name: str, location: str) -> Checkpoint:
    return Checkpoint(local_path(location, f"{name}: its checkpoint has to be in a folder"))


class OwnQuery:
    """Wraps a ``StreamingQuery`` of this process."""

    def __init__(self, query: Any) -> None:
        self._query = query
        self.name = f"query {query.name or query.id}"
        if not query.isActive:
            raise BadInputError(
                f"{self.name} does not run: start it, or copy the checkpoint of one that ended by itself"
            )
        self.checkpoint = _checkpoint(self.name, self._location())
        if self.checkpoint.path.name.startswith("temporary-"):
            raise BadInputError(
                f"{self.name} has no checkpointLocation, so Spark deletes its checkpoint at the end. "
                f"Start it with .option('checkpointLocation', <folder>)"
            )
        folder = os.environ.get(HOLD_FOLDER_VARIABLE)
        if not folder:
            raise BadInputError(
                f"the sources of {self.name} cannot be held: its session was not made by create_session(). "
                f"Set {HOLD_FOLDER_VARIABLE} to a folder before Spark starts, or call query.stop() and run "
                f"it once with trigger(availableNow=True)"
            )
        self.hold_folder = Path(folder)

    def _location(self) -> str:
        return str(self._query._jsq.streamingQuery().resolvedCheckpointRoot())

    def held(self) -> None:
        """Do nothing: the query's status is always current."""
        return

    @property
    def is_idle(self) -> bool:
        """Whether no trigger is active."""
        return self.has_ended or not self._query.status["isTriggerActive"]

    @property
    def has_ended(self) -> bool:
        """Whether the query does not run any more."""
        return not self._query.isActive

    @property
    def failure(self) -> str:
        """The first line of the error that ended the query, or ""."""
        if self._query.isActive:
            return ""
        found = self._query.exception()
        return str(found).splitlines()[0] if found is not None else ""

    def stop(self) -> None:
        """Stop the query."""
        self._query.stop()


class ConnectQuery(OwnQuery):
    """A ``StreamingQuery`` of a Spark Connect server that shares this machine's folders.

    Spark does not report to a client where the checkpoint of a query is, so the caller says it. The id of
    the query, which is in the checkpoint, shows whether the folder is the right one.
    """

    def __init__(self, query: Any, checkpoint: str | Path | None) -> None:
        self._given = checkpoint
        super().__init__(query)
        found = self.checkpoint.query_id
        if found != str(query.id):
            what = f"is the checkpoint of query {found}" if found else "has no checkpoint on this machine"
            raise BadInputError(
                f"{self.checkpoint.path} {what}, and {self.name} has the id {query.id}. Pass the "
                "checkpointLocation of the query. Client and server of Spark Connect have to share its folder"
            )

    def _location(self) -> str:
        if self._given is None:
            raise BadInputError(
                f"Spark Connect does not say where the checkpoint of {self.name} is. Pass its "
                "checkpointLocation: stop_with_savepoint(query, folder, checkpoint='<folder>')"
            )
        return str(self._given)


class SubmittedQuery:
    """The query of a driver process. Spark's reports in its progress file say when it has nothing to do."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.name = f"the query of {driver.command[1]}"
        if not driver.alive:
            raise BadInputError(f"{self.name} does not run: call start() on its driver")
        if driver.checkpoint is None:
            raise BadInputError(
                f"the checkpoint folder of {self.name} is not known: set driver.checkpoint to it"
            )
        self.checkpoint = _checkpoint(self.name, str(driver.checkpoint))
        self.hold_folder = driver.hold_folder
        self._since_ms = 0

    def held(self) -> None:
        """Note the time: reports from before are ignored from now on."""
        self._since_ms = time.time_ns() // 1_000_000

    def _told(self, kind: str) -> list[dict[str, Any]]:
        lines = (line for line in self._driver.lines() if line.get("id") == self.checkpoint.query_id)
        return [line for line in lines if line["kind"] == kind and line["at_ms"] >= self._since_ms]

    @property
    def is_idle(self) -> bool:
        """Whether Spark has reported since then that the query is idle, or that it has ended."""
        return self.has_ended or bool(self._told("idle"))

    @property
    def has_ended(self) -> bool:
        """Whether Spark has reported that the query terminated."""
        return bool(self._told("terminated"))

    @property
    def failure(self) -> str:
        """The first line of the error that ended the query or its process, or ""."""
        reasons = [line["exception"] for line in self._told("terminated") if line["exception"]]
        if reasons:
            return str(reasons[-1]).splitlines()[0]
        if not self._driver.alive and not self.has_ended:
            return f"its process has ended; see {self._driver.log_file}"
        return ""

    def stop(self) -> None:
        """Kill the driver."""
        self._driver.kill()
