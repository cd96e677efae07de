"""The places where a streaming query can be watched: its listener, its driver's progress file, its
checkpoint folder.

Each source returns what is new since the last look, in order. Nothing here communicates with the store.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class ProgressFile:
    """The JSON lines that a driver process appends. A line that is half written is left for the next look."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._read_to = 0

    def news(self) -> Iterator[Event]:
        """Return the events since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._read_to += len(whole)
        for line in whole.splitlines():
            event = _parse(line)
            if event is not None:
                yield event


def _parse(line: bytes) -> Event | None:
    """Return the event of a line, ``None`` for an empty line and for one that a kill cut off."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


class CheckpointFolder:
    """Spark's ``offsets`` and ``commits`` logs on a local file system: a file per batch, named by its id.

    It returns ``planned`` and ``committed`` events with the files' times. Spark deletes old entries (it
    keeps 100 by default), so of a long past only the newest batches are seen.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(str(path).removeprefix("file:"))
        self._seen: dict[tuple[str, int], None] = {}

    def query_id(self) -> str:
        """Return the query's id, which is the same in all its runs; "" while there is none."""
        try:
            return str(json.loads((self.path / "metadata").read_text())["id"])
        except (OSError, ValueError, KeyError):
            return ""

    def news(self) -> Iterator[Event]:
        """Return the events since the last call."""
        new = [entry for log in ("offsets", "commits") for entry in self._new(log)]
        planned = {batch_id: time_ms for log, batch_id, time_ms in new if log == "offsets"}
        for log, batch_id, time_ms in sorted(new, key=lambda e: (e[1], e[0] == "commits")):
            if log == "offsets":
                yield {
                    "kind": "planned",
                    "batch_id": batch_id,
                    "at_ms": time_ms,
                    "end": self._end_of(batch_id),
                }
            else:
                before_ms = planned.get(batch_id) or self._time_of("offsets", batch_id)
                yield {"kind": "committed", "batch_id": batch_id, "at_ms": time_ms, "planned_ms": before_ms}

    def _new(self, log: str) -> Iterator[tuple[str, int, int]]:
        folder = self.path / log
        names = sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit()) if folder.is_dir() else []
        for batch_id in names:
            time_ms = None if (log, batch_id) in self._seen else self._time_of(log, batch_id)
            if time_ms is not None:
                self._seen[(log, batch_id)] = None
                yield log, batch_id, time_ms

    def _time_of(self, log: str, batch_id: int) -> int | None:
        try:
            return (self.path / log / str(batch_id)).stat().st_mtime_ns // 1_000_000
        except OSError:
            return None

    def _end_of(self, batch_id: int) -> str:
        """Return the batch's end offsets: the lines of the log after its version and its metadata."""
        try:
            lines = (self.path / "offsets" / str(batch_id)).read_text().splitlines()
        except OSError:
            return ""
        ends = [line for line in lines[2:] if line and line != "-"]
        return ends[0] if len(ends) == 1 else json.dumps(ends) if ends else ""


class Listener:
    """Spark's listener for one query of this process, with the events before it was added.

    It takes the JVM's JSON if it can (0.6 ms per batch). pyspark's own conversion takes a hundred times as
    long and is the fallback (spark.md 7). Callbacks come in threads of py4j, and only put events into a
    queue.
    """

    def __init__(self, query: Any) -> None:
        self.query = query
        self._events: deque[Event] = deque()
        self._id = str(query.id)
        self._spark = query._session if hasattr(query, "_session") else _session()
        self._remove = self._attach()
        for told in query.recentProgress:
            self._events.append({"kind": "progress", "progress": _as_dict(told)})

    def news(self) -> Iterator[Event]:
        """Return the events since the last call."""
        while self._events:
            event = self._events.popleft()
            told = event.get("progress") or event
            if str(told.get("id", self._id)) == self._id:
                yield event
        if not self.query.isActive:
            error = self.query.exception()
            yield {"kind": "terminated", "exception": None if error is None else str(error)}

    def close(self) -> None:
        """Remove the listener."""
        self._remove()

    def _attach(self) -> Any:
        try:
            return self._attach_fast()
        except Exception:  # a private interface of pyspark: any failure of it means "not there"
            return self._attach_public()

    def _attach_fast(self) -> Any:
        from pyspark.java_gateway import ensure_callback_server_started

        context = self._spark.sparkContext
        ensure_callback_server_started(context._gateway)
        wrapper = context._jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper
        listener, manager = wrapper(_Raw(self._events)), self._spark.streams._jsqm
        manager.addListener(listener)
        return lambda: manager.removeListener(listener)

    def _attach_public(self) -> Any:
        from pyspark.sql.streaming import StreamingQueryListener

        events = self._events

        class Public(StreamingQueryListener):  # type: ignore[misc]  # pyspark is not typed here
            def onQueryStarted(self, event: Any) -> None: ...

            def onQueryProgress(self, event: Any) -> None:
                events.append({"kind": "progress", "progress": json.loads(event.progress.json)})

            def onQueryIdle(self, event: Any) -> None: ...

            def onQueryTerminated(self, event: Any) -> None: ...

        listener, streams = Public(), self._spark.streams
        streams.addListener(listener)
        return lambda: streams.removeListener(listener)


class _Raw:
    """Takes the events of the JVM unconverted."""

    def __init__(self, events: deque[Event]) -> None:
        self._events = events

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryProgress(self, event: Any) -> None:
        self._events.append({"kind": "progress", "progress": json.loads(event.progress().json())})

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryTerminated(self, event: Any) -> None: ...

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def _session() -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.active()  # also in a thread that has no active session


def _as_dict(told: Any) -> Event:
    """Return a progress report as Spark's own JSON, whatever form this pyspark returns it in."""
    text = getattr(told, "json", None)
    return dict(json.loads(text)) if isinstance(text, str) else dict(told)
