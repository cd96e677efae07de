"""What can be observed of a reader group: one frozen type per kind.

Observations come from the group's state log (reader-groups.md B2). Each carries ``revision``, the offset in
the log after the entry that it is from, or -1 if it is not from the log. Two observers of one log make the
same observations; only ``time_ms`` differs. The log has no times: ``time_ms`` is when the entry was *seen*,
and ``uncertain_ms`` how much earlier it may have been written (``None``: any time before).

Cuts are tuples of (segment's full name, offset); -1 is a segment read to its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pravega_lab.observe.journal.observations import LOGGED, Observation

Positions = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupObservation(Observation):
    """Root of the kinds that come from a state log. ``group`` is ``scope/group``."""

    kind: ClassVar[str] = "group_observation"

    group: str
    revision: int = -1
    uncertain_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSeen(GroupObservation):
    """A group's log was opened, or begins again: by a reset (``is_reset``) or with another configuration.

    ``group_id`` is the controller's: another group may have this name later.
    """

    kind: ClassVar[str] = "group_seen"
    streams: tuple[str, ...]
    automatic_checkpoint_interval_ms: int = -1
    generation: int = -1
    is_reset: bool = False
    uri: str = ""
    group_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupUpdated(GroupObservation):
    """One update of the log, explained in a sentence. ``update`` is its type's name in Java's format.

    ``details`` is JSON of its fields; an update of an unknown type or version has its bytes there (hex).
    """

    kind: ClassVar[str] = "group_updated"
    sample: ClassVar[bool] = True  # the facts in it are observations of their own
    newest_of: ClassVar[tuple[str, ...]] = ("group",)  # so folds need no older one
    update: str
    explained: str
    reader: str = ""
    segment: str = ""
    checkpoint: str = ""
    details: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderJoined(GroupObservation):
    """A reader came online."""

    kind: ClassVar[str] = "reader_joined"
    reader: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderLeft(GroupObservation):
    """A reader is no longer online. The log does not say whether it left or was declared offline.

    ``held`` are the segments that it released, at the offsets where other readers resume. ``was_killed`` is
    only known if this program ended the reader.
    """

    kind: ClassVar[str] = "reader_left"
    reader: str
    held: Positions = ()
    cause: str = "left, or was declared offline: the log does not say"
    cause_kind: str = LOGGED
    was_killed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOffered(GroupObservation):
    """A segment may be read and no reader holds it, from now on until a reader acquires it.

    ``why``: ``start`` (of the group), ``released`` (by ``reader``), ``left`` (``reader`` went offline) or
    ``predecessors read`` (the last of them by ``reader``).
    """

    kind: ClassVar[str] = "segment_offered"
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "why": ("start", "released", "left", "predecessors read")
    }
    stream: str
    segment_id: int
    offset: int
    why: str
    reader: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSegmentAcquired(GroupObservation):
    """A reader acquired a free segment, at ``offset``.

    The reason follows from a rule (reader-groups.md B3), so it is inferred.
    """

    kind: ClassVar[str] = "group_segment_acquired"
    stream: str
    segment_id: int
    reader: str
    offset: int
    cause: str = ""
    cause_kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSegmentReleased(GroupObservation):
    """A reader no longer holds a segment: it released the segment, or left."""

    kind: ClassVar[str] = "group_segment_released"
    stream: str
    segment_id: int
    reader: str
    offset: int
    cause: str = ""
    cause_kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSegmentFinished(GroupObservation):
    """A reader read a sealed segment to its end and released it; ``successors`` come next."""

    kind: ClassVar[str] = "group_segment_finished"
    stream: str
    segment_id: int
    reader: str
    successors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentWaits(GroupObservation):
    """A successor may not be read before these predecessors are. Reported again when there are fewer."""

    kind: ClassVar[str] = "segment_waits"
    stream: str
    segment_id: int
    waits_for: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderMeasured(GroupObservation):
    """A reader reported its lag, in ms of its own clock, and, if it says so, what it read last."""

    kind: ClassVar[str] = "reader_measured"
    sample: ClassVar[bool] = True
    reader: str
    distance_to_tail_ms: int
    last_read: Positions = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheckpointAsked(GroupObservation):
    """A reader-group checkpoint began, and ``readers`` have to pass it.

    ``positions`` are those of segments that no reader holds. ``is_silent``: the checkpoint only serves to
    learn positions, and readers do not see it.
    """

    kind: ClassVar[str] = "group_checkpoint_asked"
    checkpoint: str
    readers: tuple[str, ...]
    positions: Positions = ()
    is_silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheckpointPassed(GroupObservation):
    """A reader reported its positions for a checkpoint, with the read after the checkpoint's event.

    ``is_by_leaving``: it went offline, which counts as a report. ``waiting`` still have to pass.
    """

    kind: ClassVar[str] = "group_checkpoint_passed"
    checkpoint: str
    reader: str
    positions: Positions
    waiting: tuple[str, ...] = ()
    is_by_leaving: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheckpointDone(GroupObservation):
    """All readers passed; ``positions`` is the cut. ``gaps`` are key ranges (low, high] that it does not
    cover.

    A range is a gap if the group still has to read it. ``gap_streams`` names the stream of each gap. For a
    stream with a segment of unknown keys no gap is reported.
    """

    kind: ClassVar[str] = "group_checkpoint_done"
    checkpoint: str
    positions: Positions
    gaps: tuple[tuple[float, float], ...] = ()
    gap_streams: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.gap_streams and len(self.gap_streams) != len(self.gaps):
            raise ValueError(f"{len(self.gap_streams)} gap_streams for {len(self.gaps)} gaps")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheckpointDropped(GroupObservation):
    """A checkpoint will not be completed: ``why`` is ``cancelled``, ``cleared``, ``reset`` or
    ``unknown``.

    ``unknown``: it ended in a gap of the log, and may have been completed.
    """

    kind: ClassVar[str] = "group_checkpoint_dropped"
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {"why": ("cancelled", "cleared", "reset", "unknown")}
    checkpoint: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReset(GroupObservation):
    """A reset of the group began (``is_begun``) or is over."""

    kind: ClassVar[str] = "group_reset"
    is_begun: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupGap(GroupObservation):
    """The log was compacted and truncated before it was read: what happened in between is not known.

    ``from_revision`` was the next to read. ``revision`` is where the observer resumed, with a whole state.
    What had changed by then follows as observations with this same revision.
    """

    kind: ClassVar[str] = "group_gap"
    from_revision: int
