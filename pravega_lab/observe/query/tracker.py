"""`QueryTracker`: turns Spark's reports on a streaming query into observations. The time is an argument.

Spark has three sources, and each has a part: the progress after every batch (rows, durations, offsets), the
offset log (what was planned) and the commit log (what is done). Source: spark.md 4 and 7.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pravega_lab.observe.journal.observations import (
    INFERRED,
    BatchDone,
    BatchPhase,
    BatchPlanned,
    Observation,
    QueryEnded,
    QueryStarted,
    SegmentRead,
)
from pravega_lab.observe.query.timestamps import milliseconds

# Spark's names of the parts of a trigger in their order, and which phase each belongs to.
PARTS = (
    ("latestOffset", "plan"),
    ("walCommit", "offsets"),
    ("getBatch", "plan"),
    ("queryPlanning", "plan"),
    ("addBatch", "work"),
    ("commitOffsets", "log"),
    ("commitBatch", "log"),
)
SILENT = "its last word; it never said that it ended"

# Which columns of QueryTimeline.frame each source can fill.
ALWAYS = ("query", "batch_id", "attempt", "run", "outcome", "start_s", "end_s", "duration_ms")
OF_PROGRESS = (
    "replayed",
    "input_rows",
    "output_rows",
    "input_rows_per_s",
    "processed_rows_per_s",
    "lag_bytes",
    "late_rows",
    "plan_ms",
    "offsets_ms",
    "work_ms",
    "log_ms",
)
FILLS: dict[str, tuple[str, ...]] = {
    "listener": ALWAYS + OF_PROGRESS,
    "progress file": ALWAYS + OF_PROGRESS,
    "checkpoint": (*ALWAYS, "replayed"),
}


class QueryTracker:
    """One streaming query over all its runs. Methods return the observations to append."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.run = 0
        self._run_key = ""
        self._running = False
        self._planned: dict[int, int] = {}  # batch -> the run that planned it, of those not done
        self._done = -1
        self._last_ms = 0

    def started(self, run_key: str, *, now_ms: int, query_id: str = "", cause: str = "") -> list[Observation]:
        """Report that a run began. A run that is known already is not reported again."""
        if run_key == self._run_key and self._running:
            return []
        found = self.ended("gone", now_ms=self._last_ms or now_ms, cause=SILENT, cause_kind=INFERRED)
        self.run += 1
        self._run_key, self._running, self._last_ms = run_key, True, now_ms
        start = QueryStarted(
            time_ms=now_ms, query=self.name, run=self.run, query_id=query_id, run_id=run_key, cause=cause
        )
        return [*found, start]

    def ended(
        self, outcome: str, *, now_ms: int, cause: str = "", cause_kind: str = "logged"
    ) -> list[Observation]:
        """Report once that the run ended, as "stopped", "failed", "killed" or "gone"."""
        if not self._running:
            return []
        self._running = False
        return [
            QueryEnded(
                time_ms=now_ms,
                query=self.name,
                run=self.run,
                outcome=outcome,
                cause=cause,
                cause_kind=cause_kind,
            )
        ]

    def progress(self, told: Mapping[str, Any], *, now_ms: int) -> list[Observation]:
        """Take Spark's progress report of one trigger. An idle trigger is no batch and reports nothing."""
        spent = {str(k): int(v) for k, v in (told.get("durationMs") or {}).items()}
        batch_id = int(told.get("batchId", -1))
        if "addBatch" not in spent or batch_id < 0:
            return []
        found = self.started(str(told.get("runId", "")), now_ms=now_ms, query_id=str(told.get("id", "")))
        start_ms = milliseconds(told.get("timestamp")) or now_ms - spent.get("triggerExecution", 0)
        found += self._phases(batch_id, spent, start_ms)
        took_ms = spent.get("triggerExecution", sum(spent.values()))
        found.append(self._batch_done(told, batch_id, spent, start_ms + took_ms, took_ms))
        self._planned.pop(batch_id, None)
        self._done = max(self._done, batch_id)
        self._last_ms = max(now_ms, start_ms + took_ms)
        return [*found, *_positions(told, self.name, start_ms + took_ms)]

    def _phases(self, batch_id: int, spent: Mapping[str, int], start_ms: int) -> list[Observation]:
        """Report the phases. Spark only says how long each took; their order is fixed, so they are laid
        end to end.
        """
        found: list[Observation] = []
        for part, phase in PARTS:
            if spent.get(part):
                found.append(
                    BatchPhase(
                        time_ms=start_ms, query=self.name, batch_id=batch_id, run=self.run, phase=phase,
                        duration_ms=spent[part],
                    )
                )  # fmt: skip
                start_ms += spent[part]
        return found

    def _batch_done(
        self, told: Mapping[str, Any], batch_id: int, spent: Mapping[str, int], end_ms: int, took_ms: int
    ) -> BatchDone:
        sources, states = told.get("sources") or [], told.get("stateOperators") or []
        output = (told.get("sink") or {}).get("numOutputRows")
        return BatchDone(
            time_ms=end_ms,
            query=self.name,
            batch_id=batch_id,
            run=self.run,
            duration_ms=took_ms,
            # The end of a repeated batch comes from the offset log, so nothing is written there again.
            replayed="walCommit" not in spent,
            input_rows=_whole(told.get("numInputRows")),
            output_rows=None if output is None or int(output) < 0 else int(output),
            input_rows_per_s=_number(told.get("inputRowsPerSecond")),
            processed_rows_per_s=_number(told.get("processedRowsPerSecond")),
            lag_bytes=lag_bytes(sources),
            start_offset=_text([s.get("startOffset") for s in sources]),
            end_offset=_text([s.get("endOffset") for s in sources]),
            latest_offset=_text([s.get("latestOffset") for s in sources]),
            late_rows=sum(int(s.get("numRowsDroppedByWatermark", 0)) for s in states) if states else None,
            state_rows=sum(int(s.get("numRowsTotal", 0)) for s in states) if states else None,
        )

    def planned(self, batch_id: int, *, now_ms: int, end_offset: str = "") -> list[Observation]:
        """Report that the batch is in the offset log."""
        if batch_id <= self._done or batch_id in self._planned:
            return []
        self._planned[batch_id] = self.run
        self._last_ms = max(self._last_ms, now_ms)
        return [
            BatchPlanned(
                time_ms=now_ms,
                query=self.name,
                batch_id=batch_id,
                run=max(1, self.run),
                end_offset=end_offset,
            )
        ]

    def committed(self, batch_id: int, *, planned_ms: int | None, now_ms: int) -> list[Observation]:
        """Report that the batch is in the commit log. Without a progress report only its times are known."""
        if batch_id <= self._done:
            return []
        self._done = batch_id
        first_run = self._planned.pop(batch_id, self.run)
        return [
            BatchDone(
                time_ms=now_ms, query=self.name, batch_id=batch_id, run=max(1, self.run),
                duration_ms=None if planned_ms is None else max(0, now_ms - planned_ms),
                replayed=True if first_run != self.run else None,
            )
        ]  # fmt: skip


def lag_bytes(sources: list[Mapping[str, Any]]) -> int | None:
    """Return the bytes between the end of the batches and the newest offsets of the sources, None if they
    are not reported.

    Bytes are counted per segment of a pravega source. A segment that only the end names was sealed since:
    how much of it was left is not reported. It counts nothing, so the lag is a lower bound.
    """
    total: int | None = None
    for source in sources:
        end, latest = _cuts(source.get("endOffset")), _cuts(source.get("latestOffset"))
        if latest:
            ahead = (max(0, offset - end.get(key, 0)) for key, offset in latest.items())
            total = (total or 0) + sum(ahead)
    return total


def _cuts(offset: Any) -> dict[tuple[str, int], int]:
    """Return offsets in the form of our Spark source by (stream, segment id), {} for any other form."""
    offset = json.loads(offset) if isinstance(offset, str) and offset.startswith("{") else offset
    if not isinstance(offset, Mapping):
        return {}
    cuts: dict[tuple[str, int], int] = {}
    for stream, cut in offset.items():
        if "/" in stream and isinstance(cut, Mapping):
            cuts.update({(stream, int(segment)): int(at) for segment, at in cut.items()})
    return cuts


def _positions(told: Mapping[str, Any], reader: str, now_ms: int) -> list[Observation]:
    """Report how far the query has read each segment, so that a segment map can show what is unread."""
    return [
        SegmentRead(time_ms=now_ms, stream=stream, segment_id=segment_id, reader=reader, offset=offset)
        for source in told.get("sources") or []
        for (stream, segment_id), offset in _cuts(source.get("endOffset")).items()
        if offset >= 0
    ]


def _text(values: list[Any]) -> str:
    """Return offsets as JSON: those of the only source, or a list if there are several."""
    told = [v for v in values if v is not None]
    if not told:
        return ""
    return json.dumps(told[0] if len(told) == 1 else told, separators=(",", ":"))


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _number(value: Any) -> float | None:
    """Return a finite number, None if Spark leaves the rate out or says NaN."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None
