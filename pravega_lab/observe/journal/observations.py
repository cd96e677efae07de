"""What can be observed: one frozen type per kind.

Every observation has ``time_ms`` (milliseconds since 1970, or since the start of a simulated run) and
``seq``, its place in the journal, which the journal assigns. ``sample = True`` marks measurements that
repeat (rates, positions): a full journal drops the oldest of those before it drops a fact.

A *cause* is always a text with its kind: ``done here`` (by a control of ours), ``logged`` (the store or the
group wrote it down) or ``inferred`` (by a rule, which is named). ``None`` means *not known*, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, TypeVar

_O = TypeVar("_O", bound="Observation")
_KINDS: dict[str, type[Observation]] = {}
DONE_HERE = "done here"
LOGGED = "logged"
INFERRED = "inferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Root of all kinds. ``seq`` is -1 until a journal has taken it.

    ``words`` are the only values of some text fields: folds and views look them up in tables.

    ``newest_of`` names the fields that say what a measurement is of, if the newest measurement of a thing
    replaces its older ones. They are the first fields after ``seq``.
    """

    kind: ClassVar[str] = "observation"
    sample: ClassVar[bool] = False
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    newest_of: ClassVar[tuple[str, ...]] = ()

    time_ms: int
    seq: int = -1

    def __init_subclass__(cls) -> None:
        _KINDS[cls.kind] = cls  # twice: a dataclass with slots replaces the class that was declared


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSeen(Observation):
    """A stream and its scaling policy (pravega.md A6). ``target_rate`` is events/s or kB/s, by ``policy``."""

    kind: ClassVar[str] = "stream_seen"
    stream: str
    policy: str  # "fixed", "events", "kbytes", "unknown"
    target_rate: int = 0
    scale_factor: int = 0
    min_segments: int = 1
    uri: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOpened(Observation):
    """A segment owns (low, high] from ``time_ms`` on. ``exact`` is False if the time was inferred."""

    kind: ClassVar[str] = "segment_opened"
    stream: str
    segment_id: int
    low: float
    high: float
    predecessors: tuple[int, ...] = ()
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSealed(Observation):
    """A segment takes no more events. ``length_bytes`` is its final length, None if it is not known."""

    kind: ClassVar[str] = "segment_sealed"
    stream: str
    segment_id: int
    length_bytes: int | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamScaled(Observation):
    """A new epoch began: these segments were sealed, and those created."""

    kind: ClassVar[str] = "stream_scaled"
    stream: str
    epoch: int
    sealed: tuple[int, ...]
    created: tuple[int, ...]
    cause: str
    cause_kind: str
    rule: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSealed(Observation):
    """The stream takes no more events: none of its segments is active."""

    kind: ClassVar[str] = "stream_sealed"
    stream: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamDeleted(Observation):
    """The stream is gone. Segments that open after this belong to another stream with the same name."""

    kind: ClassVar[str] = "stream_deleted"
    stream: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentMeasured(Observation):
    """Offsets (bytes) and rates of a segment. ``events_per_s`` is ``None`` if it is not known.

    ``events_how`` says where the event rate comes from; the public protocol counts bytes only.
    """

    kind: ClassVar[str] = "segment_measured"
    sample: ClassVar[bool] = True
    newest_of: ClassVar[tuple[str, ...]] = ("stream", "segment_id")
    stream: str
    segment_id: int
    start_offset: int
    write_offset: int
    bytes_per_s: float | None = None
    events_per_s: float | None = None
    events_how: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentTiered(Observation):
    """All bytes of a segment before ``offset`` are in tier 2, or truncated. The others are in the log."""

    kind: ClassVar[str] = "segment_tiered"
    sample: ClassVar[bool] = True
    newest_of: ClassVar[tuple[str, ...]] = ("stream", "segment_id")
    stream: str
    segment_id: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentAcquired(Observation):
    """A reader (of a group, or a query) owns a segment from now on."""

    kind: ClassVar[str] = "segment_acquired"
    stream: str
    segment_id: int
    reader: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentReleased(Observation):
    """A reader no longer owns a segment."""

    kind: ClassVar[str] = "segment_released"
    stream: str
    segment_id: int
    reader: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRead(Observation):
    """The reader has read all bytes before ``offset``."""

    kind: ClassVar[str] = "segment_read"
    sample: ClassVar[bool] = True
    stream: str
    segment_id: int
    reader: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStarted(Observation):
    """A run of a streaming query began; ``run`` counts from 1 in this journal."""

    kind: ClassVar[str] = "query_started"
    query: str
    run: int
    query_id: str = ""
    run_id: str = ""
    cause: str = ""
    cause_kind: str = LOGGED


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEnded(Observation):
    """A run ended. ``outcome``: "stopped", "failed", "killed" or "gone" (without a report)."""

    kind: ClassVar[str] = "query_ended"
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {"outcome": ("stopped", "failed", "killed", "gone")}
    query: str
    run: int
    outcome: str
    cause: str = ""
    cause_kind: str = LOGGED


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlanned(Observation):
    """A micro-batch is in Spark's offset log: it will be done, again if necessary. Offsets are JSON."""

    kind: ClassVar[str] = "batch_planned"
    query: str
    batch_id: int
    run: int
    end_offset: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPhase(Observation):
    """A part of a micro-batch, from ``time_ms`` for ``duration_ms``.

    Phases are, in order, ``plan read process prepare decision commit log``. ``work`` is read, process and
    prepare together, if only their sum is known; ``offsets`` is Spark's offset log.
    """

    kind: ClassVar[str] = "batch_phase"
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "phase": ("plan", "offsets", "read", "process", "prepare", "work", "decision", "commit", "log")
    }
    query: str
    batch_id: int
    run: int
    phase: str
    duration_ms: int
    how: str = LOGGED


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDone(Observation):
    """A micro-batch ended at ``time_ms``, after ``duration_ms``; the rest is as Spark reported it."""

    kind: ClassVar[str] = "batch_done"
    query: str
    batch_id: int
    run: int
    duration_ms: int | None = None
    replayed: bool | None = None
    input_rows: int | None = None
    output_rows: int | None = None
    input_rows_per_s: float | None = None
    processed_rows_per_s: float | None = None
    lag_bytes: int | None = None
    start_offset: str = ""
    end_offset: str = ""
    latest_offset: str = ""
    late_rows: int | None = None
    state_rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble(Observation):
    """The observer itself failed to look (store unreachable, file gone): what it shows is older than that."""

    kind: ClassVar[str] = "trouble"
    source: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleOver(Observation):
    """The observer has looked again, after trouble of this source."""

    kind: ClassVar[str] = "trouble_over"
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Observation):
    """A sentence for the reader of the journal: a fault that was injected, a step of a lesson."""

    kind: ClassVar[str] = "note"
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMerged(Observation):
    """The journal ``source`` is in this one, with its times moved by ``moved_ms`` onto one clock.

    The two clocks may differ by ``uncertain_ms`` more, either way; ``None`` if that is not known. ``how``
    says how the difference was found.
    """

    kind: ClassVar[str] = "source_merged"
    source: str
    moved_ms: int
    uncertain_ms: int | None
    how: str


def kinds() -> Mapping[str, type[Observation]]:
    """Return all kinds by name. A module that defines kinds adds them when it is imported.

    The package `pravega_lab.observe` imports all such modules. So the kinds are complete for every caller.
    """
    return _KINDS


@cache
def _names(kind: type[Observation]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name != "seq")


def numbered(observation: _O, seq: int) -> _O:
    """Return the observation with this ``seq``, several times as fast as ``dataclasses.replace``."""
    if observation.seq == seq:
        return observation
    kind: Any = type(observation)
    made: _O = object.__new__(kind)
    for name in _names(kind):
        object.__setattr__(made, name, getattr(observation, name))
    object.__setattr__(made, "seq", seq)
    return made
