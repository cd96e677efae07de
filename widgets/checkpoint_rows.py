"""Checkpoints as the timeline draws them, whatever system takes them: parts that go through phases.

A part is a reader of a group, or a subtask of a job. `GroupCheckpoints` makes them of a reader group; another
system is another source with phases of its own. Nothing here knows how they are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pravega_lab.observe.group_rows import CheckpointRow, split_segment
from pravega_lab.widgets.group_history import BoardHistory, CutPiece

STATES = ("running", "completed", "failed", "cancelled", "unknown")
GROUP_STATES = {"cleared": "failed", "reset": "cancelled"}
GROUP_WORDS = {"cleared": "failed", "reset": "dropped by reset"}
NAMES_MAX = 3  # of readers in a sentence; more are counted


@dataclass(frozen=True, slots=True)
class PhaseKind:
    """A phase of every part, in its order. ``waits`` ends the sentence about a part that stays in it."""

    name: str
    words: str
    colour: str
    waits: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A part is, or was, in phase number ``kind``; ``end_ms`` is ``None`` while it lasts."""

    kind: int
    start_ms: int
    end_ms: int | None = None


@dataclass(slots=True)
class Part:
    """One that has to pass. ``row`` is its place among all rows of the source, ``where`` what it works at.

    ``skipped`` says why it counts as passed without having done so ("went offline"); it is struck through.
    """

    row: int
    name: str
    phases: list[Phase] = field(default_factory=list)
    where: str = ""
    skipped: str = ""

    @property
    def end_ms(self) -> int | None:
        """When it had passed."""
        return self.phases[-1].end_ms if self.phases else None


@dataclass(slots=True)
class Checkpoint:
    """A checkpoint of any system. ``word`` says how it ended, ``state`` is one of `STATES`."""

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

    @property
    def done(self) -> int:
        return sum(part.end_ms is not None for part in self.parts)

    @property
    def waiting(self) -> list[Part]:
        return [part for part in self.parts if part.end_ms is None]

    @property
    def last(self) -> Part | None:
        """The last to pass."""
        passed = [part for part in self.parts if part.end_ms is not None]
        return max(passed, key=lambda part: part.end_ms or 0, default=None)


class CheckpointSource(Protocol):
    """What a timeline asks of a system: its phases in order, its rows, and its checkpoints, oldest first."""

    system: str
    phases: Sequence[PhaseKind]

    @property
    def name(self) -> str: ...

    def checkpoints(self) -> list[Checkpoint]: ...


GROUP_PHASES = (
    PhaseKind("reach", "asked → reached", "#56B4E9", "has not got the checkpoint's event yet"),
    PhaseKind("pass", "reached → passed", "#0072B2", "waits for its next read"),
    PhaseKind("whole", "asked → passed, by the next read", "#0072B2", "waits for its next read"),
)
WHOLE = 2  # when a reader reached it is in no log


class GroupCheckpoints:
    """The checkpoints that readers of a group saw; silent ones, which only learn positions, are left out."""

    system = "reader group"
    phases: Sequence[PhaseKind] = GROUP_PHASES

    def __init__(self, history: BoardHistory, group: str | None = None) -> None:
        self._history, self._group = history, group

    @property
    def name(self) -> str:
        return self._group or self._history.first_group

    def checkpoints(self) -> list[Checkpoint]:
        rows = self._history.checkpoints_of(self.name)
        return [self.one(row, number) for number, row in enumerate(rows, 1)]

    def one(self, row: CheckpointRow, number: int) -> Checkpoint:
        """A row of the fold as a checkpoint."""
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
    """``in segments #3 #5``; of many how many."""
    numbers = [f"#{i & 0xFFFFFFFF}" for i in segments]
    if len(numbers) > NAMES_MAX:
        return f"in {len(numbers)} segments"
    return (
        f"in segment{'s' if len(numbers) > 1 else ''} {' '.join(numbers)}" if numbers else "with no segment"
    )


def held_up(checkpoint: Checkpoint, phases: Sequence[PhaseKind], now_ms: int) -> str:
    """``held up by r3: 1.8 s in segment #4, waits for its next read``; "" where nothing is to be said."""
    if checkpoint.state == "completed":
        return _was_held_up(checkpoint)
    waiting = checkpoint.waiting
    until = now_ms if checkpoint.end_ms is None else checkpoint.end_ms
    after = f"{(until - checkpoint.start_ms) / 1000:.1f} s"
    if checkpoint.state != "running":
        return f"{checkpoint.word} after {after}; {names(waiting)} had not passed" if waiting else ""
    if len(waiting) == 1:
        part = waiting[0]
        waits = phases[part.phases[-1].kind].waits if part.phases else "has not begun"
        return f"held up by {part.name}: {after} so far {part.where}, {waits}"
    return f"{after} so far, waits for {names(waiting)}"


def _was_held_up(checkpoint: Checkpoint) -> str:
    part = checkpoint.last
    if part is None:
        return "nobody had to pass it"
    spent = f"{((part.end_ms or 0) - checkpoint.start_ms) / 1000:.1f} s"
    if part.skipped:
        return f"held up by {part.name}: {spent}, until it {part.skipped}"
    return f"held up by {part.name}: {spent} {part.where}, until its next read"


def names(parts: Sequence[Part]) -> str:
    """``r1, r2 and 3 more``."""
    listed = [part.name for part in parts]
    more = len(listed) - NAMES_MAX
    return ", ".join(listed[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
