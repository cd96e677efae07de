"""Turns what Spark tells of a streaming query into observations. Decides; reads no file and gets the time.

Spark tells three things, each of a part: its progress after every batch (rows, durations, offsets), the
offset log (what was planned) and the commit log (what is done). Source: spark.md 4 and 7.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pravega_lab.observe.observations import (
    INFERRED,
    BatchDone,
    BatchPhase,
    BatchPlanned,
    Observation,
    QueryEnded,
    QueryStarted,
    SegmentRead,
)

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
        """A run began. One that is known already is not told twice."""
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
        """The run ended, as "stopped", "failed", "killed" or "gone". Told once."""
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
        """Spark's progress of one trigger. An idle trigger is no batch and gives nothing."""
        spent = {str(k): int(v) for k, v in (told.get("durationMs") or {}).items()}
        batch_id = int(told.get("batchId", -1))
        if "addBatch" not in spent or batch_id < 0:
            return []
        found = self.started(str(told.get("runId", "")), now_ms=now_ms, query_id=str(told.get("id", "")))
        start_ms = _time_ms(told.get("timestamp")) or now_ms - spent.get("triggerExecution", 0)
        found += self._phases(batch_id, spent, start_ms)
        took_ms = spent.get("triggerExecution", sum(spent.values()))
        found.append(self._batch_done(told, batch_id, spent, start_ms + took_ms, took_ms))
        self._planned.pop(batch_id, None)
        self._done = max(self._done, batch_id)
        self._last_ms = max(now_ms, start_ms + took_ms)
        return [*found, *_positions(told, self.name, start_ms + took_ms)]

    def _phases(self, batch_id: int, spent: Mapping[str, int], start_ms: int) -> list[Observation]:
        """Spark tells how long each part took; their order is fixed, so they are laid end to end."""
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
        """The batch stands in the offset log."""
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
        """The batch stands in the commit log, and no progress told of it: only its times are known."""
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
    """Bytes between what the batches have reached and the newest that the sources told of; None: not told.

    Counts per segment of a pravega source. A segment that only the end names was sealed meanwhile: how much
    of it was left is not told, so it counts nothing and the lag is a lower bound.
    """
    total: int | None = None
    for source in sources:
        end, latest = _cuts(source.get("endOffset")), _cuts(source.get("latestOffset"))
        if latest:
            ahead = (max(0, offset - end.get(key, 0)) for key, offset in latest.items())
            total = (total or 0) + sum(ahead)
    return total


def _cuts(offset: Any) -> dict[tuple[str, int], int]:
    """(stream, segment id) -> offset, of an offset in the form of our Spark source; {} for any other."""
    offset = json.loads(offset) if isinstance(offset, str) and offset.startswith("{") else offset
    if not isinstance(offset, Mapping):
        return {}
    cuts: dict[tuple[str, int], int] = {}
    for stream, cut in offset.items():
        if "/" in stream and isinstance(cut, Mapping):
            cuts.update({(stream, int(segment)): int(at) for segment, at in cut.items()})
    return cuts


def _positions(told: Mapping[str, Any], reader: str, now_ms: int) -> list[Observation]:
    """How far the query has read each segment, so that a segment map can tell what is unread."""
    return [
        SegmentRead(time_ms=now_ms, stream=stream, segment_id=segment_id, reader=reader, offset=offset)
        for source in told.get("sources") or []
        for (stream, segment_id), offset in _cuts(source.get("endOffset")).items()
        if offset >= 0
    ]


def _text(values: list[Any]) -> str:
    """Offsets as JSON: the only one's, or a list of several sources'."""
    told = [v for v in values if v is not None]
    if not told:
        return ""
    return json.dumps(told[0] if len(told) == 1 else told, separators=(",", ":"))


def _time_ms(timestamp: Any) -> int | None:
    """``2026-11-21T09:00:00.123Z`` in milliseconds."""
    try:
        return round(datetime.fromisoformat(str(timestamp)).timestamp() * 1000)
    except ValueError:
        return None


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _number(value: Any) -> float | None:
    """A finite number; Spark leaves rates out, or says NaN, where it has none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None
