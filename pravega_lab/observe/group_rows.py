"""Rows of `GroupHistory`: readers, who held what when, moves, waits and checkpoints of reader groups.

Values that a fold fills and views read. Times are ms of the journal's clock; an end that is ``None`` is
still open. A segment is (``stream``, ``segment_id``); the reader ``""`` is *nobody*. What no observation
tells is ``None``, never zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pravega_lab.observe.group_observations import Positions

NOBODY = ""
LAG_MS_PLAUSIBLE = 10 * 365 * 86_400_000  # ten years: above it a reader wrote its clock (B3)


@dataclass(slots=True)
class SegmentPlace:
    """A segment as a group sees it now.

    ``state``: ``held`` (by ``reader``), ``nobody`` (may be read, nobody has it), ``waits`` (for the
    predecessors ``waits_for``), ``finished`` (read to its end) or ``gone`` (of a life before a reset).
    ``read_offset`` is what the log said last: of the acquisition, a checkpoint or a reader's own report, so
    the reader is there or further; -1 is read to the end. ``write_offset`` comes from a stream observer.
    """

    group: str
    stream: str
    segment_id: int
    state: str
    since_ms: int
    reader: str = NOBODY
    read_offset: int | None = None
    write_offset: int | None = None
    start_offset: int = 0
    waits_for: tuple[int, ...] = ()
    growth: list[tuple[int, int]] = field(default_factory=list)  # (time_ms, write_offset), thinned

    @property
    def label(self) -> str:
        """What a person calls it: ``#5 e2``."""
        return label_of(self.segment_id)

    @property
    def unread_bytes(self) -> int | None:
        """Bytes behind ``read_offset``; at most so many, for a reader may be further than the log says."""
        if self.state == "finished" or self.read_offset == -1:
            return 0
        if self.read_offset is None or self.write_offset is None:
            return None
        return max(0, self.write_offset - max(self.read_offset, self.start_offset))

    @property
    def behind_since_ms(self) -> int | None:
        """About when the oldest unread byte was written, by the measurements; None: not behind."""
        if not self.unread_bytes or self.read_offset is None:
            return None
        return next((at for at, written in self.growth if written > self.read_offset), None)


@dataclass(slots=True)
class ReaderRow:
    """A lane: a reader of a group, from its first joining on. One that comes again has the same lane.

    ``state``: ``reading`` (it holds segments), ``idle`` (online without any), ``checkpoint`` (one waits for
    it: it takes and gives nothing meanwhile), ``left`` (or was declared offline) or ``killed`` (done here).
    ``index`` is its place in the order of joining in the whole journal: it gives the colour.
    """

    index: int
    group: str
    reader: str
    joined_ms: int
    left_ms: int | None = None
    state: str = "idle"
    held: list[tuple[str, int]] = field(default_factory=list)  # (stream, segment_id), by acquisition
    fair_share: float = 0.0  # segments that may be read ÷ readers online
    owes: list[str] = field(default_factory=list)  # checkpoints that wait for it, the oldest first
    owes_since_ms: int | None = None
    distance_to_tail_ms: int | None = None  # as it says; most clients write their clock there
    cause: str = ""  # why it is gone
    cause_kind: str = ""
    sessions: list[tuple[int, int | None]] = field(default_factory=list)  # (joined_ms, left_ms)
    places: list[SegmentPlace] = field(default_factory=list, repr=False)  # of ``held``, in its order

    @property
    def unread_bytes(self) -> int | None:
        """Of the segments that it holds; None while one of them is not known, and once it is gone."""
        unread = [place.unread_bytes for place in self.places]
        known = [n for n in unread if n is not None]
        return sum(known) if self.is_online and len(known) == len(unread) else None

    @property
    def behind_since_ms(self) -> int | None:
        """About when the oldest byte that it has not read was written; None: it is not behind."""
        since = [place.behind_since_ms for place in self.places]
        return min((ms for ms in since if ms is not None), default=None)

    @property
    def is_online(self) -> bool:
        return self.left_ms is None

    @property
    def lag_ms(self) -> int | None:
        """How far it is behind by its own word; None where it wrote its clock instead, as Java's do (B3)."""
        told = self.distance_to_tail_ms
        return told if told is not None and told < LAG_MS_PLAUSIBLE else None


@dataclass(slots=True)
class Holding:
    """A bar: ``reader`` (or nobody) had the segment from ``start_ms`` to ``end_ms``.

    ``ended_by``: ``released``, ``left`` (its reader went, also by a reset), ``finished``, of nobody's bars
    ``acquired`` or ``reset``, or "" while it lasts. ``offset`` is where it began to read, ``end_offset``
    where the next goes on.
    """

    index: int
    group: str
    stream: str
    segment_id: int
    reader: str
    start_ms: int
    offset: int | None = None
    end_ms: int | None = None
    end_offset: int | None = None
    ended_by: str = ""
    why: str = ""  # of nobody's: start, released, left, predecessors read

    @property
    def label(self) -> str:
        return label_of(self.segment_id)

    def length_ms(self, now_ms: int) -> int:
        """How long it lasted, or has lasted until ``now_ms``."""
        return (now_ms if self.end_ms is None else self.end_ms) - self.start_ms


@dataclass(slots=True)
class Waiting:
    """A dotted bar: a successor that may not be read yet; ``waits_for`` are the predecessors left."""

    index: int
    group: str
    stream: str
    segment_id: int
    start_ms: int
    waits_for: tuple[int, ...]
    end_ms: int | None = None

    @property
    def label(self) -> str:
        return label_of(self.segment_id)

    @property
    def words(self) -> str:
        """``waits for #2``."""
        return waits_words(self.waits_for)


@dataclass(frozen=True, slots=True)
class Move:
    """A connector: a segment came to ``to_reader``, from ``from_reader`` or from nobody before.

    It left there at ``left_ms`` and arrived at ``time_ms``; in between nobody had it. For a successor
    ``from_segments`` are its predecessors, and ``from_reader`` read the last of them. ``kind`` of the move:
    ``start``, ``released``, ``left``, ``successor``; ``reason`` comes with *its* kind.
    """

    index: int
    group: str
    stream: str
    segment_id: int
    time_ms: int
    left_ms: int
    from_reader: str
    to_reader: str
    kind: str
    reason: str
    reason_kind: str
    from_segments: tuple[int, ...] = ()
    offset: int | None = None

    @property
    def gap_ms(self) -> int:
        """How long nobody had it."""
        return self.time_ms - self.left_ms


@dataclass(frozen=True, slots=True)
class Pass:
    """A reader passed a checkpoint: with the read after the checkpoint's event, or by leaving.

    When the checkpoint's event was handed out to it, *reached*, is in no log.
    """

    reader: str
    time_ms: int
    positions: Positions
    is_by_leaving: bool = False


@dataclass(slots=True)
class CheckpointRow:
    """A reader-group checkpoint. ``state``: ``running``, ``completed``, ``cancelled``, ``cleared``, ``reset``
    or ``unknown`` (gone in a gap of the log).

    ``readers`` have to pass, ``passes`` did, in that order, ``waiting`` have not. ``cut`` is what it has so
    far; of a completed one the whole, and ``gaps`` are (stream, low, high] that it does not cover.
    """

    index: int
    group: str
    name: str
    asked_ms: int
    readers: tuple[str, ...]
    waiting: tuple[str, ...]
    is_silent: bool = False
    state: str = "running"
    ended_ms: int | None = None
    passes: list[Pass] = field(default_factory=list)
    cut: Positions = ()
    gaps: tuple[tuple[str, float, float], ...] = ()
    held_up_segments: tuple[tuple[str, int], ...] = ()  # held by the last to pass, when it passed

    @property
    def duration_ms(self) -> int | None:
        return None if self.ended_ms is None else self.ended_ms - self.asked_ms

    @property
    def words(self) -> str:
        """``7 of 9`` while it runs, else how it ended."""
        n = len(self.readers)
        return f"{n - len(self.waiting)} of {n}" if self.state == "running" else self.state

    @property
    def held_up_by(self) -> tuple[str, ...]:
        """The readers that it waits for; of an ended one the last to pass."""
        if self.state == "running":
            return self.waiting
        return (self.passes[-1].reader,) if self.passes else ()


def label_of(segment_id: int) -> str:
    """What a person calls a segment: ``#5 e2``."""
    return f"#{segment_id & 0xFFFFFFFF} e{segment_id >> 32}"


def waits_words(segment_ids: Sequence[int]) -> str:
    """``waits for #2``; "" if it waits for none."""
    waiting = ", ".join(f"#{i & 0xFFFFFFFF}" for i in segment_ids)
    return f"waits for {waiting}" if waiting else ""


def split_segment(name: str) -> tuple[str, int]:
    """A segment's full name, ``scope/stream/3.#epoch.2``, as (stream, segment id)."""
    stream, _, short = name.rpartition("/")
    number, _, epoch = short.partition(".#epoch.")
    return stream, int(epoch or 0) << 32 | int(number)
