"""`QueryObserver`: follows a streaming query of this process, of another driver, or by its checkpoint
folder alone.
"""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import BadInputError, require
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.journalled import Journalled
from pravega_lab.observe.journal.observations import INFERRED
from pravega_lab.observe.journal.troubles import TroubleOf
from pravega_lab.observe.query.sources import CheckpointFolder, Event, Listener, ProgressFile
from pravega_lab.observe.query.tracker import FILLS, QueryTracker

if TYPE_CHECKING:
    import pandas as pd

EVERY_MS = 200


class QueryObserver(Journalled):
    """Fills a journal with the micro-batches of a query, in a thread, until it is closed.

    Args:
        query: A `StreamingQuery` of this process; a driver of ``lab.submit`` (or the path of its progress
            file, ``*.jsonl``); or the path of a checkpoint folder.
        journal: The journal to fill; by default a new one.
        checkpoint: The query's checkpoint folder in addition. It shows batches that were planned and never
            done: those that a kill cut off. A driver may name its own folder as ``checkpoint``.
        name: The name of the query; by default its own name, or the first letters of its id.
        every_ms: How often to look.

    ``columns`` says which columns of `QueryTimeline` these sources can fill.

    Raises:
        BadInputError: ``query`` is none of these.
    """

    def __init__(
        self,
        query: Any,
        journal: Journal | None = None,
        *,
        checkpoint: str | Path | None = None,
        name: str | None = None,
        every_ms: int = EVERY_MS,
    ) -> None:
        self._driver: Any = query if hasattr(query, "progress_file") else None
        self._listener = Listener(query) if hasattr(query, "recentProgress") else None
        self._file: ProgressFile | None = None
        checkpoint = checkpoint or getattr(query, "checkpoint", None)
        self._folder = None if checkpoint is None else CheckpointFolder(checkpoint)
        if self._driver is not None:
            self._file = ProgressFile(query.progress_file)
        elif self._listener is None:
            self._choose_path(query)
        self.name = name or (query.name if self._listener is not None else None)
        self.journal = Journal(self._source()) if journal is None else journal
        self.shows = ("queries",)
        self._trackers: dict[str, QueryTracker] = {}
        self._pid = 0
        self._was_alive = False
        self._runs = 0
        self._trouble = TroubleOf(self.journal.append)
        self._every_ms = every_ms
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observe query", daemon=True)
        self._thread.start()

    def _choose_path(self, query: Any) -> None:
        if not isinstance(query, str | Path):
            raise BadInputError(
                f"a query is observed as a StreamingQuery, a driver of lab.submit, a progress file, or a "
                f"checkpoint folder, and streams and reader groups as the objects of a client; this is "
                f"{type(query).__name__}."
            )
        path = Path(str(query).removeprefix("file:"))
        if path.is_dir() or (path.suffix not in (".jsonl", ".json") and not path.is_file()):
            self._folder = CheckpointFolder(path)
        else:
            self._file = ProgressFile(path)

    @property
    def sources(self) -> list[str]:
        """Return the names of the sources that this observer reads."""
        told = (("listener", self._listener), ("progress file", self._file), ("checkpoint", self._folder))
        return [name for name, source in told if source is not None]

    @property
    def columns(self) -> pd.DataFrame:
        """Return the columns of `QueryTimeline`'s frame, and which of them each source can fill."""
        require("pandas")
        import pandas as pd

        names = list(dict.fromkeys(name for told in FILLS.values() for name in told))
        table = {source: [name in FILLS[source] for name in names] for source in FILLS}
        here = [any(name in FILLS[s] for s in self.sources) for name in names]
        return pd.DataFrame({**table, "filled here": here}, index=pd.Index(names, name="column"))

    def close(self) -> None:
        """Look a last time, stop, and wait until the thread has ended. The journal stays."""
        self._closing.set()
        self._thread.join(10)
        if self._listener is not None:
            self._listener.close()

    def _source(self) -> str:
        if self._listener is not None:
            return f"query {self.name or self._listener.query.id}"
        path = self._file.path if self._file is not None else self._folder.path if self._folder else ""
        return f"query in {Path(path).name}"

    def _run(self) -> None:
        while True:
            last = self._closing.is_set()
            try:
                self._look()
                self._trouble.end(self.name or "query", _now_ms())
            except Exception as error:  # no caller could catch it in this thread: the journal has it
                self._trouble.say(self.name or "query", f"{type(error).__name__}: {error}", _now_ms())
            if last:
                return
            self._closing.wait(self._every_ms / 1000)

    def _look(self) -> None:
        alive = bool(getattr(self._driver, "alive", False))
        for source in (self._listener, self._file):
            for event in source.news() if source is not None else ():
                self._take(event)
        # After the query's own reports, so that its runs are known when the folder shows their batches.
        if self._folder is not None and (self._trackers or self.sources == ["checkpoint"]):
            for event in self._folder.news():
                self._take_logged(self._folder, event)
        runs = int(getattr(self._driver, "runs", 0))
        if self._was_alive and (not alive or runs != self._runs):
            self._driver_is_gone(runs)
        self._was_alive, self._runs = alive, runs
        self.journal.tick(_now_ms())

    def _tracker(self, query_id: str, name: str | None) -> QueryTracker:
        tracker = self._trackers.get(query_id)
        if tracker is None:
            own = self.name if self.name and not self._trackers else name
            tracker = self._trackers[query_id] = QueryTracker(own or query_id[:8] or "query")
        return tracker

    def _take(self, event: Event) -> None:
        told = event.get("progress") or event
        now_ms = int(event.get("at_ms") or _now_ms())
        query_id, kind = str(told.get("id", "")), event.get("kind")
        if not query_id and self._trackers:
            query_id = next(reversed(self._trackers))
        tracker = self._tracker(query_id, told.get("name"))
        if kind in ("started", "progress"):
            self.journal.extend(self._start(tracker, told, now_ms))
        if kind == "progress":
            self.journal.extend(tracker.progress(told, now_ms=now_ms))
        elif kind == "terminated":
            error = event.get("exception")
            outcome = "failed" if error else "stopped"
            self.journal.extend(tracker.ended(outcome, now_ms=now_ms, cause=str(error or "")[:500]))

    def _start(self, tracker: QueryTracker, told: Event, now_ms: int) -> Any:
        run_key = str(told.get("run_id") or told.get("runId") or "")
        return tracker.started(run_key, now_ms=now_ms, query_id=str(told.get("id", "")))

    def _take_logged(self, folder: CheckpointFolder, event: Event) -> None:
        query_id = folder.query_id()
        if query_id not in self._trackers and self.sources != ["checkpoint"]:
            query_id = next(reversed(self._trackers))  # the caller said that the folder is this query's
        tracker = self._tracker(query_id, folder.path.name)
        at_ms, batch_id = int(event["at_ms"]), int(event["batch_id"])
        if event["kind"] == "planned":
            found = tracker.planned(batch_id, now_ms=at_ms, end_offset=event["end"])
        elif self._file is not None or self._listener is not None:
            return  # the progress of the batch has more, and follows
        else:
            found = tracker.committed(batch_id, planned_ms=event["planned_ms"], now_ms=at_ms)
        self.journal.extend(found)

    def _driver_is_gone(self, runs: int) -> None:
        """Note that the driver's process ended: by a kill if its exit code says so, else without a report
        of any query.
        """
        code = None
        if runs != self._runs:  # and it was started again since
            ended = getattr(self._driver, "exit_codes", None)
            code = ended[-1] if ended else None
        else:
            with contextlib.suppress(Exception):
                code = self._driver.wait(0)
        outcome = "killed" if code is None or code < 0 else "failed" if code else "gone"
        cause = f"its process ended with {code}" if code is not None else "its process is gone"
        for tracker in self._trackers.values():
            seen = tracker.ended(outcome, now_ms=_now_ms(), cause=cause, cause_kind=INFERRED)
            self.journal.extend(seen)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
