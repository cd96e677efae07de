"""Checkpoints of a job as the timeline draws them: a part per subtask, coordinator and master hook.

With a reader group in the same history its readers follow below, for the checkpoint of the group that a hook
or a coordinator of the job requested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pravega_lab.observe.group.rows import CheckpointRow
from pravega_lab.observe.job.fold import JobHistory
from pravega_lab.observe.job.observations import split_task
from pravega_lab.observe.job.rows import Ask, JobCheckpointRow, TaskPart
from pravega_lab.observe.job.words import channels_words
from pravega_lab.observe.journal.observations import Observation

from ..groups.history import BoardHistory
from ..svg.picture import data_size
from .rows import Checkpoint, GroupCheckpoints, Part, Phase, PhaseKind

TRIGGER, ALIGN, SNAPSHOT, ACKNOWLEDGE, NOTICE, FINISHED, ASK, READ = range(8)
JOB_PHASES = (
    PhaseKind("trigger", "→ first barrier", "#9a9a9a", "has no barrier yet", passes=False),
    PhaseKind("align", "→ aligned", "#E69F00", "still aligning", passes=False),
    PhaseKind("snapshot", "→ snapshot", "#0072B2", "writes its state", passes=False),
    PhaseKind("acknowledge", "→ acknowledged", "#56B4E9", "its acknowledgement is on its way"),
    PhaseKind("notice", "commit notice", "#009E73", "has not heard of the completion", passes=False),
    PhaseKind("finished", "finished before", "#9a9a9a", ""),
    PhaseKind("ask", "asked → state in", "#CC79A7", "has not given its state"),
    PhaseKind("read", "asked → passed", "#0072B2", "waits for its next read"),
)
PASSING = (ACKNOWLEDGE, FINISHED, ASK, READ)
NOTHING = "finished, nothing to snapshot"
TASKS_FROM, READERS_FROM = (
    1_000,
    100_000,
)  # rows: first what is asked first, then the job's, then the readers'
GIVEN_UP = {  # reasons that are not failures, with the word under the bar
    "CHECKPOINT_SUBSUMED": "subsumed",
    "CHECKPOINT_DECLINED_SUBSUMED": "subsumed",
    "CHECKPOINT_COORDINATOR_SHUTDOWN": "cancelled",
    "PERIODIC_SCHEDULER_SHUTDOWN": "cancelled",
}
_NUMBER = re.compile(r"(\d+)\D*$")

EMPTY_CODE = """observer = JobObserver(graph)
job = Job(graph, JobConfig(CheckpointConfig(interval_ms=1000)), observer=observer)
await job.start()
await job.trigger_checkpoint()"""


class TimelineHistory(BoardHistory):
    """The reader groups and jobs of one journal, or of two."""

    keeps_lag = False

    def __init__(self) -> None:
        super().__init__()
        self.jobs = JobHistory()

    def apply(self, observation: Observation) -> None:
        """Take one more observation into account."""
        super().apply(observation)
        self.jobs.apply(observation)
        if self.jobs.start_ms is not None:
            starts = [ms for ms in (self.start_ms, self.jobs.start_ms) if ms is not None]
            self.start_ms = min(starts)
            self.now_ms = max(self.now_ms or 0, self.jobs.now_ms or 0)


class JobCheckpoints:
    """The checkpoints of a job; with ``group`` also what its readers did for them."""

    system = "job"
    phases: Sequence[PhaseKind] = JOB_PHASES
    until = ""
    counts = ""
    readers_from = READERS_FROM

    def __init__(self, history: TimelineHistory, group: str | None = None) -> None:
        self._history, self._jobs = history, history.jobs
        self._group = group or history.first_group
        self._readers = GroupCheckpoints(history, self._group)
        self._known: dict[str, int] = {}  # a source serves one drawing

    @property
    def name(self) -> str:
        return self._jobs.job

    def checkpoints(self) -> list[Checkpoint]:
        return [self.one(row, number) for number, row in enumerate(self._jobs.checkpoints, 1)]

    def rows(self, *, everything: bool) -> list[JobCheckpointRow]:
        jobs = self._jobs
        some = dict.fromkeys(range(len(jobs.checkpoints))) if everything else dict(jobs.changed)
        if self._group and not everything:
            for changed in self._readers.rows(everything=False):
                some |= {row.index: None for row in jobs.checkpoints if self._induced(row) is changed}
        jobs.changed.clear()
        self._history.changed.clear()
        return [jobs.checkpoints[i] for i in sorted(some)]

    def running(self) -> list[Checkpoint]:
        return [self.one(row, 0) for row in self._jobs.running()]

    def row_names(self) -> list[tuple[int, str]]:
        named = [(row, name) for name, row in self._places().items()]
        return [*named, *((READERS_FROM + r.index, r.reader) for r in self._history.readers)]

    def left_out(self) -> str:
        return ""

    def empty(self) -> list[str]:
        return ["No checkpoints of the job yet: one is drawn subtask by subtask as it comes.", EMPTY_CODE]

    # From a row of the fold to a checkpoint.

    def _places(self) -> dict[str, int]:
        """Return rows by name: those asked first, then the subtasks of each life in order of the graph."""
        if not self._known:
            told = (ask for row in self._jobs.checkpoints for ask in row.asks.values())
            asks = dict.fromkeys(map(self._ask_name, told))
            tasks = dict.fromkeys(task.label for task in self._jobs.tasks)
            self._known = {name: k for k, name in enumerate(asks)}
            self._known |= {name: TASKS_FROM + k for k, name in enumerate(tasks)}
        return self._known

    def _ask_name(self, ask: Ask) -> str:
        return f"{'hook' if ask.is_hook else 'coord.'} {self._jobs.operator(ask.who)}"

    def one(self, row: JobCheckpointRow, number: int) -> Checkpoint:
        places = self._places()
        induced = self._induced(row)
        parts = [self._asked(ask, row, places) for ask in row.asks.values()]
        parts += [self._part(part, row, places) for part in row.parts.values()]
        name = f"{row.kind} {row.checkpoint_id}" if row.checkpoint_id else row.kind
        made = Checkpoint(
            row.index, row.checkpoint_id, name, row.start_ms, row.end_ms,
            *_ended_as(row), parts, until=self.until, about=_about(row),
        )  # fmt: skip
        if induced is not None:
            self._add_readers(made, row, induced)
        return made

    def _asked(self, ask: Ask, row: JobCheckpointRow, places: dict[str, int]) -> Part:
        name = self._ask_name(ask)
        phases = [] if ask.asked_ms is None else [Phase(ASK, ask.asked_ms, ask.acknowledged_ms)]
        return Part(places[name], name, phases, passing=PASSING)

    def _part(self, part: TaskPart, row: JobCheckpointRow, places: dict[str, int]) -> Part:
        name = self._jobs.label(*split_task(part.task))
        made = Part(places.get(name, 0), name, passing=PASSING)
        if part.is_finished:
            made.phases = [Phase(FINISHED, row.start_ms, row.start_ms)]
            made.skipped = NOTHING
            return made
        made.phases = list(_phases(part, row))
        made.ticks = [(ms, channel) for channel, ms in part.barriers]
        made.where = _where(part, made)
        if part.between and part.cut_ms is not None and part.aligned_ms is not None:
            made.between = (part.cut_ms, part.aligned_ms, part.between)
        return made

    # What a reader group did for it.

    def _induced(self, row: JobCheckpointRow) -> CheckpointRow | None:
        """Return the group's checkpoint with the job's number in its name, or the first requested since."""
        mine = self._history.checkpoints_of(self._group) if self._group else []
        named = [c for c in mine if _number(c.name) == row.checkpoint_id and c.asked_ms >= row.start_ms]
        asked = [ask.asked_ms for ask in row.asks.values() if ask.asked_ms is not None]
        if named or not asked:
            return named[0] if named else None
        last = [ask.acknowledged_ms for ask in row.asks.values() if ask.acknowledged_ms is not None]
        until_ms = max(last) if last else row.end_ms
        between = (
            c for c in mine if c.asked_ms >= min(asked) and (until_ms is None or c.asked_ms <= until_ms)
        )
        return next((c for c in between if _number(c.name) is None), None)

    def _add_readers(self, made: Checkpoint, row: JobCheckpointRow, induced: CheckpointRow) -> None:
        group = self._readers.one(induced, 0)
        for part in group.parts:
            part.row += READERS_FROM
            part.phases = [Phase(READ, phase.start_ms, phase.end_ms) for phase in part.phases]
            part.passing = PASSING
        made.parts += group.parts
        made.cut, made.gaps, made.positions = group.cut, group.gaps, group.positions
        made.owners = {segment: READERS_FROM + who if who else 0 for segment, who in group.owners.items()}
        asks = [ask for ask in row.asks.values() if ask.asked_ms is not None]
        asks.sort(key=lambda ask: (not ask.is_hook, ask.asked_ms))
        made.links = [(self._ask_name(ask), part.name) for ask in asks[:1] for part in group.parts]


def _ended_as(row: JobCheckpointRow) -> tuple[str, str]:
    """Return state and word. A checkpoint superseded by a newer one, or by the job's end, did not fail."""
    word = GIVEN_UP.get(row.reason) if row.state == "failed" else None
    return ("cancelled", word) if word else (row.state, row.state)


def _number(name: str) -> int | None:
    """Return the number at the end of a checkpoint's name; the digits of a UUID do not count."""
    found = _NUMBER.search(name) if len(name) < 30 else None
    return int(found[1]) if found else None


def _phases(part: TaskPart, row: JobCheckpointRow) -> Iterator[Phase]:
    """Yield the phases of a part as far as it has come, each beginning at the end of the one before."""
    arrived = part.barriers[0][1] if part.barriers else None
    begun = row.start_ms if part.triggered_ms is None else part.triggered_ms
    first = part.aligned_ms if arrived is None else arrived
    yield Phase(TRIGGER, begun, first)
    if first is None:
        return
    if arrived is not None:
        yield Phase(ALIGN, arrived, part.aligned_ms)
    if part.aligned_ms is None:
        return
    yield Phase(SNAPSHOT, part.aligned_ms, part.snapshotted_ms)
    if part.snapshotted_ms is None:
        return
    yield Phase(ACKNOWLEDGE, part.snapshotted_ms, part.acknowledged_ms)
    if row.state == "completed" and row.end_ms is not None and row.kind != "savepoint":
        yield Phase(NOTICE, row.end_ms, part.notified_ms)


def _where(part: TaskPart, made: Part) -> str:
    """Return what a part waits for, or where most of its time went."""
    if part.barriers and part.aligned_ms is None:
        return f"without the barrier of {channels_words(part.waits_for)}"
    if part.acknowledged_ms is None:
        return ""
    spent = [(p.end_ms - p.start_ms, p.kind) for p in made.phases if p.kind < NOTICE and p.end_ms is not None]
    most_ms, kind = max(spent)
    words = {TRIGGER: "until its barrier came", ALIGN: "in alignment", SNAPSHOT: "writing its state",
             ACKNOWLEDGE: "for its acknowledgement to arrive"}  # fmt: skip
    return f"({most_ms:,} ms of it {words[kind]})"


def _about(row: JobCheckpointRow) -> list[str]:
    """Return what there is to say beside the rows."""
    if row.state == "failed":
        return [row.reason or "failed", row.message]
    if row.state != "completed":
        return []
    sizes = [part.state_bytes for part in row.parts.values() if part.state_bytes is not None]
    largest = f"largest part {data_size(max(sizes))}" if sizes else ""
    return [f"state {data_size(row.state_bytes)}", largest, f"in {row.path.rpartition('/')[2]}"]
