"""Rows of `GroupHistory`: readers, holdings, moves, waits and checkpoints of reader groups.

A fold fills them and views read them. Times are ms of the journal's clock; an end of ``None`` is still
open. A segment is (``stream``, ``segment_id``). The reader ``""`` means that no reader holds the segment.
What no observation says is ``None``, never zero.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter

from pravega_lab.observe.group.observations import Positions
from pravega_lab.protocol.names import epoch_of, number_of

NOBODY = ""
AT_CHECKPOINT = "waits for a checkpoint"
_GROWTH_MAX = 256
_WRITTEN = itemgetter(1)
LAG_MS_PLAUSIBLE = 10 * 365 * 86_400_000  # ten years: above it a reader wrote its clock (reader-groups.md B3)


@dataclass(slots=True)
class SegmentPlace:
    """A segment as a group sees it now.

    ``state`` is ``held`` (by ``reader``), ``nobody`` (it may be read and no reader holds it), ``waits``
    (for the predecessors ``waits_for``), ``finished`` (read to its end) or ``gone`` (from before a reset).
    ``read_offset`` is the newest offset in the log: of an acquisition, a checkpoint or a reader's own
    report. The reader is there or further; -1 means read to the end. ``write_offset`` comes from a stream
    observer.
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
    growth: list[tuple[int, int]] = field(default_factory=list)  # see `remember_growth`

    @property
    def label(self) -> str:
        """Return the segment's short name: ``#5 e2``."""
        return label_of(self.segment_id)

    @property
    def unread_bytes(self) -> int | None:
        """Return the bytes after ``read_offset``, None if they are not known.

        This is an upper bound, because a reader may be further than the log says.
        """
        if self.state == "finished" or self.read_offset == -1:
            return 0
        if self.read_offset is None or self.write_offset is None:
            return None
        return max(0, self.write_offset - max(self.read_offset, self.start_offset))

    @property
    def behind_since_ms(self) -> int | None:
        """Return about when the oldest unread byte was written, by the measurements; None if all is read."""
        if not self.unread_bytes or self.read_offset is None:
            return None
        return time_of_offset(self.growth, self.read_offset + 1)


@dataclass(slots=True)
class ReaderRow:
    """A lane: a reader of a group, from its first joining on. A reader that joins again has the same
    lane.

    ``state`` is ``reading`` (it holds segments), ``idle`` (online without segments), ``checkpoint`` (a
    checkpoint waits for it, so it neither acquires nor releases), ``left`` (or was declared offline) or
    ``killed`` (by a control of ours). ``index`` is its place in the order of joining in the whole journal,
    and decides its colour.
    """

    index: int
    group: str
    reader: str
    joined_ms: int
    left_ms: int | None = None
    state: str = "idle"
    held: list[tuple[str, int]] = field(default_factory=list)  # (stream, segment_id), in order of acquisition
    fair_share: float = 0.0  # segments that may be read ÷ readers online
    owes: list[str] = field(default_factory=list)  # checkpoints that wait for it, the oldest first
    owes_since_ms: int | None = None
    distance_to_tail_ms: int | None = None  # as reported; most clients write their clock there
    cause: str = ""  # why it left
    cause_kind: str = ""
    sessions: list[tuple[int, int | None]] = field(default_factory=list)  # (joined_ms, left_ms)
    places: list[SegmentPlace] = field(default_factory=list, repr=False)  # of ``held``, in its order

    @property
    def unread_bytes(self) -> int | None:
        """Return the unread bytes of the segments that it holds, None if one is not known or it has left."""
        unread = [place.unread_bytes for place in self.places]
        known = [n for n in unread if n is not None]
        return sum(known) if self.is_online and len(known) == len(unread) else None

    @property
    def behind_since_ms(self) -> int | None:
        """Return about when the oldest byte that it has not read was written; None if it has read all."""
        since = [place.behind_since_ms for place in self.places]
        return min((ms for ms in since if ms is not None), default=None)

    @property
    def is_online(self) -> bool:
        """Return whether the reader is online."""
        return self.left_ms is None

    @property
    def lag_ms(self) -> int | None:
        """Return the reader's own report of its lag, None if it wrote its clock there, as Java's readers
        do.

        Source: reader-groups.md B3.
        """
        told = self.distance_to_tail_ms
        return told if told is not None and told < LAG_MS_PLAUSIBLE else None


@dataclass(slots=True)
class Holding:
    """A bar: ``reader`` (or no reader) had the segment from ``start_ms`` to ``end_ms``.

    ``ended_by`` is ``released``, ``left`` (the reader left, also by a reset), ``finished``, "" while the
    bar lasts, and for a bar without a reader ``acquired`` or ``reset``. ``offset`` is where the reader
    began, ``end_offset`` where the next one resumes.
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
    why: str = ""  # without a reader: start, released, left, predecessors read

    @property
    def label(self) -> str:
        """Return the segment's short name: ``#5 e2``."""
        return label_of(self.segment_id)

    def length_ms(self, now_ms: int) -> int:
        """Return how long it lasted, or has lasted until ``now_ms``."""
        return (now_ms if self.end_ms is None else self.end_ms) - self.start_ms


@dataclass(slots=True)
class Waiting:
    """A dotted bar: a successor that may not be read yet. ``waits_for`` are the predecessors that are
    left. If readers have read these to their end, it only waits for a checkpoint: ``is_at_checkpoint``.
    """

    index: int
    group: str
    stream: str
    segment_id: int
    start_ms: int
    waits_for: tuple[int, ...]
    end_ms: int | None = None
    is_at_checkpoint: bool = False
    due_ms: int | None = None  # when the next automatic checkpoint was due, as far as it is known

    @property
    def label(self) -> str:
        """Return the segment's short name: ``#5 e2``."""
        return label_of(self.segment_id)

    @property
    def words(self) -> str:
        """Return what it waits for: ``waits for #2``, or ``waits for a checkpoint``."""
        return AT_CHECKPOINT if self.is_at_checkpoint else waits_words(self.waits_for)


@dataclass(frozen=True, slots=True)
class Move:
    """A connector: ``to_reader`` acquired a segment that ``from_reader``, or no reader, had before.

    The segment left there at ``left_ms`` and arrived at ``time_ms``; in between no reader had it. For a
    successor, ``from_segments`` are its predecessors, and ``from_reader`` read the last of them. ``kind``
    is ``start``, ``released``, ``left`` or ``successor``. ``reason`` says why, and ``reason_kind`` how that
    is known.
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
        """Return how long no reader had it."""
        return self.time_ms - self.left_ms


@dataclass(frozen=True, slots=True)
class Pass:
    """A reader passed a checkpoint: with the read after the checkpoint's event, or by leaving.

    No log says when the reader received the checkpoint's event.
    """

    reader: str
    time_ms: int
    positions: Positions
    is_by_leaving: bool = False


@dataclass(slots=True)
class CheckpointRow:
    """A reader-group checkpoint.

    ``state`` is ``running``, ``completed``, ``cancelled``, ``cleared``, ``reset`` or ``unknown`` (it ended
    in a gap of the log). ``readers`` have to pass, ``passes`` are those that did, in order, and ``waiting``
    those that did not yet. ``cut`` holds the positions so far, and all of them once it is completed.
    ``gaps`` are the (stream, low, high] that it does not cover.
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
        """Return how long it took, None while it runs."""
        return None if self.ended_ms is None else self.ended_ms - self.asked_ms

    @property
    def words(self) -> str:
        """Return ``7 of 9`` while it runs, else how it ended."""
        n = len(self.readers)
        return f"{n - len(self.waiting)} of {n}" if self.state == "running" else self.state

    @property
    def held_up_by(self) -> tuple[str, ...]:
        """Return the readers that it waits for, or the last reader to pass if it has ended."""
        if self.state == "running":
            return self.waiting
        return (self.passes[-1].reader,) if self.passes else ()


def label_of(segment_id: int) -> str:
    """Return a segment's short name: ``#5 e2``."""
    return f"{number_label(segment_id)} e{epoch_of(segment_id)}"


def number_label(segment_id: int) -> str:
    """Return a segment's short name without its epoch: ``#5``."""
    return f"#{number_of(segment_id)}"


def waits_words(segment_ids: Sequence[int]) -> str:
    """Return ``waits for #2``, or "" if there is nothing to wait for."""
    waiting = ", ".join(map(number_label, segment_ids))
    return f"waits for {waiting}" if waiting else ""


@lru_cache(maxsize=10_000)
def split_segment(name: str) -> tuple[str, int]:
    """Return the stream and the segment id of a full name, ``scope/stream/3.#epoch.2``."""
    stream, _, short = name.rpartition("/")
    number, _, epoch = short.partition(".#epoch.")
    return stream, int(epoch or 0) << 32 | int(number)


def remember_growth(growth: list[tuple[int, int]], time_ms: int, write_offset: int) -> None:
    """Keep (time_ms, write_offset), thinned out if there are many. Offsets never fall, as in a segment: a
    late measurement of a second observer counts as the offset that is known already.
    """
    growth.append((time_ms, max(write_offset, growth[-1][1]) if growth else write_offset))
    if len(growth) > _GROWTH_MAX:
        growth[:] = growth[::2]


def time_of_offset(growth: Sequence[tuple[int, int]], offset: int) -> int | None:
    """Return when a segment reached this offset, as near as the measurements say; None if it did not."""
    place = bisect_left(growth, offset, key=_WRITTEN)
    return growth[place][0] if place < len(growth) else None
