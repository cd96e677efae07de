"""What can be observed of a reader group: one frozen type per kind, and nothing that decides.

Made from the group's state log (pravega.md B2), so every one carries ``revision``: the offset in the log
behind the entry that says it, and -1 where it is not from the log. Two observers of one log make the same
observations; only ``time_ms`` differs, for the log has no times: it is when the entry was *seen*, and
``uncertain_ms`` says how much earlier it may have been written (``None``: any time before).

Cuts are tuples of (segment's full name, offset); -1 is a segment read to its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pravega_lab.observe.observations import LOGGED, Observation

Positions = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupObservation(Observation):
    """Root of the kinds that a state log tells. ``group`` is ``scope/group``."""

    kind: ClassVar[str] = "group_observation"

    group: str
    revision: int = -1
    uncertain_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSeen(GroupObservation):
    """A group's log was opened, or begins anew: by a reset (``is_reset``) or with another configuration.

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
    """A reader is online no longer. The log does not say whether it left or was declared offline.

    ``held`` are the segments that it gave back, at the offsets where others go on. ``was_killed`` is known
    only of what was done here.
    """

    kind: ClassVar[str] = "reader_left"
    reader: str
    held: Positions = ()
    cause: str = "left, or was declared offline: the log does not say"
    cause_kind: str = LOGGED
    was_killed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOffered(GroupObservation):
    """A segment may be read and nobody holds it: from now on until somebody acquires it.

    ``why``: ``start`` (of the group), ``released`` (by ``reader``), ``left`` (``reader`` went offline) or
    ``predecessors read`` (the last of them by ``reader``).
    """

    kind: ClassVar[str] = "segment_offered"
    stream: str
    segment_id: int
    offset: int
    why: str
    reader: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSegmentAcquired(GroupObservation):
    """A reader took a segment that nobody held, at ``offset``. The reason is a rule's (B3), so inferred."""

    kind: ClassVar[str] = "group_segment_acquired"
    stream: str
    segment_id: int
    reader: str
    offset: int
    cause: str = ""
    cause_kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSegmentReleased(GroupObservation):
    """A reader holds a segment no longer: it gave it back, or left."""

    kind: ClassVar[str] = "group_segment_released"
    stream: str
    segment_id: int
    reader: str
    offset: int
    cause: str = ""
    cause_kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSegmentFinished(GroupObservation):
    """A reader read a sealed segment to its end and holds it no longer; ``successors`` come next."""

    kind: ClassVar[str] = "group_segment_finished"
    stream: str
    segment_id: int
    reader: str
    successors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentWaits(GroupObservation):
    """A successor may not be read before these predecessors are (said again when there are fewer)."""

    kind: ClassVar[str] = "segment_waits"
    stream: str
    segment_id: int
    waits_for: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderMeasured(GroupObservation):
    """How far behind a reader says it is, in ms of its own clock, and what it read last where it says so."""

    kind: ClassVar[str] = "reader_measured"
    sample: ClassVar[bool] = True
    reader: str
    distance_to_tail_ms: int
    last_read: Positions = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheckpointAsked(GroupObservation):
    """A reader-group checkpoint began; ``readers`` have to pass it. Positions of what nobody holds are taken.

    ``is_silent``: it only serves to learn positions; readers do not see it.
    """

    kind: ClassVar[str] = "group_checkpoint_asked"
    checkpoint: str
    readers: tuple[str, ...]
    positions: Positions = ()
    is_silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheckpointPassed(GroupObservation):
    """A reader reported its positions for a checkpoint (with the read after the checkpoint's event).

    ``is_by_leaving``: it went offline, which counts as a report. ``waiting`` have still to pass.
    """

    kind: ClassVar[str] = "group_checkpoint_passed"
    checkpoint: str
    reader: str
    positions: Positions
    waiting: tuple[str, ...] = ()
    is_by_leaving: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheckpointDone(GroupObservation):
    """All readers passed; ``positions`` is the cut. ``gaps`` are key ranges (low, high] it does not cover.

    A range is a gap if the group still has to read it. ``gap_streams`` names the stream of each. None is told
    of a stream of which a segment's keys are not known.
    """

    kind: ClassVar[str] = "group_checkpoint_done"
    checkpoint: str
    positions: Positions
    gaps: tuple[tuple[float, float], ...] = ()
    gap_streams: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheckpointDropped(GroupObservation):
    """A checkpoint that was not done will not be: ``why`` is ``cancelled``, ``cleared`` or ``reset``.

    ``unknown``: it went in a gap of what was read, and may have been done.
    """

    kind: ClassVar[str] = "group_checkpoint_dropped"
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

    ``from_revision`` was the next to read, ``revision`` is where the observer went on, with a whole state:
    what had changed by then follows as observations of this same revision.
    """

    kind: ClassVar[str] = "group_gap"
    from_revision: int
