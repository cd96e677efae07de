"""Checkpoints as the timeline draws them, whatever system takes them: parts that go through phases.

A part is a reader of a group, or a subtask of a job. `GroupCheckpoints` makes parts of a reader group;
another system is another source with phases of its own. Nothing here knows how they are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pravega_lab.observe.group.rows import CheckpointRow, number_label, split_segment
from pravega_lab.portable.words import plural

from ..groups.history import BoardHistory, CutPiece

STATES = ("running", "completed", "failed", "cancelled", "unknown")
GROUP_STATES = {"cleared": "failed", "reset": "cancelled"}
GROUP_WORDS = {"cleared": "failed", "reset": "dropped by reset"}
EMPTY_CODE = """pending = group.initiate_checkpoint("first")
pending.result(timeout_s=30)"""
NAMES_MAX = 3  # readers named in a sentence; more are counted


@dataclass(frozen=True, slots=True)
class PhaseKind:
    """A phase of every part, in its order. ``waits`` ends the sentence about a part that stays in it.

    ``passes`` says whether a part that has ended the phase has passed.
    """

    name: str
    words: str
    colour: str
    waits: str
    passes: bool = True


@dataclass(frozen=True, slots=True)
class Phase:
    """A part is, or was, in phase number ``kind``; ``end_ms`` is ``None`` while it lasts."""

    kind: int
    start_ms: int
    end_ms: int | None = None


@dataclass(slots=True)
class Part:
    """A reader or subtask that has to pass.

    ``row`` is its place among all rows of the source, ``where`` what it works at. ``skipped`` says why it
    counts as passed without having done so ("went offline"); it is struck through. ``passing`` are the phases
    of which one has to end; by default the last. ``ticks`` are (ms, number) in them: barriers by channel.
    ``between`` is (cut ms, barrier ms, events): the events between the two would be read twice, or, below
    zero, never.
    """

    row: int
    name: str
    phases: list[Phase] = field(default_factory=list)
    where: str = ""
    skipped: str = ""
    passing: tuple[int, ...] = ()
    ticks: list[tuple[int, int]] = field(default_factory=list)
    between: tuple[int, int, int] | None = None

    @property
    def end_ms(self) -> int | None:
        """When the part had passed; None before."""
        ends = [p.end_ms for p in self.phases if not self.passing or p.kind in self.passing]
        return ends[-1] if ends else None


@dataclass(slots=True)
class Checkpoint:
    """A checkpoint of any system. ``word`` says how it ended, ``state`` is one of `STATES`.

    ``owners`` are the rows (+ 1) that reported a segment of the cut, ``positions`` the cut as reported,
    ``until`` what the last to pass came with, ``about`` what there is to say beside it. ``links`` names the
    part that made others begin, and these. A request that failed before it had a number has number 0.
    """

    index: int
    number: int
    name: str
    start_ms: int
    end_ms: int | None
    state: str
    word: str
    parts: list[Part]
    cut: list[CutPiece] = field(default_factory=list)
    gaps: list[tuple[str, float, float]] = field(default_factory=list)
    owners: dict[tuple[str, int], int] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)
    until: str = ""
    about: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Return ``checkpoint 3``, or ``checkpoint request 2`` of those that have no number."""
        return f"checkpoint {self.number}" if self.number else self.name

    @property
    def done(self) -> int:
        return sum(part.end_ms is not None for part in self.parts)

    @property
    def waiting(self) -> list[Part]:
        return [part for part in self.parts if part.end_ms is None]

    @property
    def last(self) -> Part | None:
        """The part that passed last."""
        passed = [part for part in self.parts if part.end_ms is not None]
        return max(passed, key=lambda part: part.end_ms or 0, default=None)


def counted(checkpoints: Sequence[Checkpoint]) -> str:
    """Return how many checkpoints there are, how many are complete, and how many requests had no number."""
    requests = sum(not c.number for c in checkpoints)
    done = sum(c.state == "completed" for c in checkpoints)
    said = f"{plural(len(checkpoints) - requests, 'checkpoint')}, {done:,} completed"
    return f"{said}, {plural(requests, 'failed request')}" if requests else said


class CheckpointSource(Protocol):
    """What a timeline asks of a system: its phases in order, its rows, and its checkpoints, oldest first.

    ``until`` ends the sentence about the last part, ``counts`` names a part that was skipped;
    ``readers_from`` is the first row of a reader, which has the reader's colour.
    """

    system: str
    phases: Sequence[PhaseKind]
    until: str
    counts: str
    readers_from: int

    @property
    def name(self) -> str: ...

    def checkpoints(self) -> list[Checkpoint]: ...

    def rows(self, *, everything: bool) -> list[Any]:
        """Return the rows there are, or those that changed since the last call.

        Each has an ``index``, and `one` makes a checkpoint of it.
        """

    def one(self, row: Any, number: int) -> Checkpoint: ...

    def running(self) -> list[Checkpoint]: ...

    def row_names(self) -> list[tuple[int, str]]:
        """Return the place of every row and its name, in order of arrival."""

    def left_out(self) -> str: ...

    def empty(self) -> list[str]:
        """Return a sentence, and the code that fills the view."""


GROUP_PHASES = (
    PhaseKind("reach", "asked → reached", "#56B4E9", "has not got the checkpoint's event yet", passes=False),
    PhaseKind("pass", "reached → passed", "#0072B2", "waits for its next read"),
    PhaseKind("whole", "asked → passed, by the next read", "#0072B2", "waits for its next read"),
)
WHOLE = 2  # no log contains when a reader reached it


class GroupCheckpoints:
    """The checkpoints that readers of a group saw, without silent ones, which only learn positions."""

    system = "reader group"
    phases: Sequence[PhaseKind] = GROUP_PHASES
    until = ", until its next read"
    counts = ", which counts as passed"
    readers_from = 0

    def __init__(self, history: BoardHistory, group: str | None = None) -> None:
        self._history, self._group = history, group

    @property
    def name(self) -> str:
        return self._group or self._history.first_group

    def checkpoints(self) -> list[Checkpoint]:
        rows = self._history.checkpoints_of(self.name)
        return [self.one(row, number) for number, row in enumerate(rows, 1)]

    def rows(self, *, everything: bool) -> list[CheckpointRow]:
        history = self._history
        some = range(len(history.checkpoints)) if everything else sorted(history.changed.checkpoints)
        found = [history.checkpoints[i] for i in some]
        history.changed.clear()
        return [row for row in found if row.group == self.name and not row.is_silent]

    def running(self) -> list[Checkpoint]:
        return [self.one(row, 0) for row in self._history.running(self.name) if not row.is_silent]

    def row_names(self) -> list[tuple[int, str]]:
        return [(row.index, row.reader) for row in self._history.readers]

    def left_out(self) -> str:
        silent = sum(row.is_silent for row in self._history.checkpoints_of(self.name, silent=True))
        return f"{silent:,} silent left out" if silent else ""

    def empty(self) -> list[str]:
        return ["No checkpoints yet: ask for one, and watch who passes it.", EMPTY_CODE]

    def _owners(self, row: CheckpointRow) -> dict[tuple[str, int], int]:
        found = {}
        for one in row.passes:
            lane = self._history.lane(row.group, one.reader)
            for name, _ in one.positions:
                found[split_segment(name)] = 0 if lane is None else lane.index + 1
        return found

    def one(self, row: CheckpointRow, number: int) -> Checkpoint:
        """Return a row of the fold as a checkpoint."""
        completed = row.state == "completed"
        return Checkpoint(
            row.index,
            number,
            row.name,
            row.asked_ms,
            row.ended_ms,
            GROUP_STATES.get(row.state, row.state),
            GROUP_WORDS.get(row.state, row.words),
            [self._part(row, reader) for reader in row.readers],
            self._history.pieces(row) if completed else [],
            list(row.gaps),
            self._owners(row),
            dict(row.cut) if completed else {},
            self.until,
        )

    def _part(self, row: CheckpointRow, reader: str) -> Part:
        lane = self._history.lane(row.group, reader)
        part = Part(-1 if lane is None else lane.index, reader)
        passed = next((p for p in row.passes if p.reader == reader), None)
        part.phases = [Phase(WHOLE, row.asked_ms, None if passed is None else passed.time_ms)]
        if passed is not None:
            part.where = where(split_segment(name)[1] for name, _ in passed.positions)
            part.skipped = "went offline" if passed.is_by_leaving else ""
        elif lane is not None and row.state == "running":
            part.where = where(segment_id for _, segment_id in lane.held)
        return part


def where(segments: Iterable[int]) -> str:
    """Return segments in words, such as ``in segments #3 #5``; of many only their number."""
    numbers = [*map(number_label, segments)]
    if len(numbers) > NAMES_MAX:
        return f"in {len(numbers)} segments"
    return (
        f"in segment{'s' if len(numbers) > 1 else ''} {' '.join(numbers)}" if numbers else "with no segment"
    )


def held_up(checkpoint: Checkpoint, phases: Sequence[PhaseKind], now_ms: int) -> str:
    """Return what a checkpoint waits for; "" where there is nothing to say.

    An example is ``held up by r3: 1.8 s in segment #4, waits for its next read``.
    """
    if checkpoint.state == "completed":
        return _was_held_up(checkpoint)
    waiting = checkpoint.waiting
    until = now_ms if checkpoint.end_ms is None else checkpoint.end_ms
    after = _spell(until - checkpoint.start_ms)
    if checkpoint.state != "running":
        return f"{checkpoint.word} after {after}; {names(waiting)} had not passed" if waiting else ""
    if len(waiting) == 1:
        part = waiting[0]
        waits = phases[part.phases[-1].kind].waits if part.phases else "has not begun"
        where = f" {part.where}" if part.where else ""
        return f"held up by {part.name}: {after} so far{where}, {waits}"
    return f"{after} so far, waits for {names(waiting)}"


def _spell(ms: int) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms} ms"


def _was_held_up(checkpoint: Checkpoint) -> str:
    part = checkpoint.last
    if part is None:
        return "nobody had to pass it"
    spent = _spell((part.end_ms or 0) - checkpoint.start_ms)
    if part.skipped:
        return f"held up by {part.name}: {spent}, until it {part.skipped}"
    where = f" {part.where}" if part.where else ""
    return f"held up by {part.name}: {spent}{where}{checkpoint.until}"


def names(parts: Sequence[Part]) -> str:
    """Return names in words, such as ``r1, r2 and 3 more``."""
    listed = [part.name for part in parts]
    more = len(listed) - NAMES_MAX
    return ", ".join(listed[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
