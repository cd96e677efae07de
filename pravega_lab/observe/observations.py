"""What can be observed: one frozen type per kind, and nothing that decides.

Every observation has ``time_ms`` (milliseconds since 1970, or since the start of a simulated run) and
``seq``, its place in the journal, which the journal assigns. ``sample = True`` marks measurements that
repeat (rates, positions): a full journal drops the oldest of those before it drops a fact.

A *cause* is always a text with its kind: ``done here`` (a control of ours), ``logged`` (the store or the
group wrote it down) or ``inferred`` (from a rule, which is named). ``None`` means *not known*, never zero.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, TypeVar

_O = TypeVar("_O", bound="Observation")
DONE_HERE = "done here"
LOGGED = "logged"
INFERRED = "inferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Root of all kinds. ``seq`` is -1 until a journal has taken it."""

    kind: ClassVar[str] = "observation"
    sample: ClassVar[bool] = False

    time_ms: int
    seq: int = -1


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
    """A segment owns (low, high] from ``time_ms`` on. ``exact`` is false when the time was inferred."""

    kind: ClassVar[str] = "segment_opened"
    stream: str
    segment_id: int
    low: float
    high: float
    predecessors: tuple[int, ...] = ()
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSealed(Observation):
    """A segment takes no more events; ``length_bytes`` is its final length where it was asked for."""

    kind: ClassVar[str] = "segment_sealed"
    stream: str
    segment_id: int
    length_bytes: int | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamScaled(Observation):
    """A new epoch began: these segments were sealed, those created. The cause carries its kind."""

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
    """The stream takes no more events: it has segments and none of them is active."""

    kind: ClassVar[str] = "stream_sealed"
    stream: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentMeasured(Observation):
    """Offsets (bytes) and rates of a segment. ``events_per_s`` is ``None`` where it cannot be told.

    ``events_how`` says where the event rate comes from; the public protocol counts bytes only.
    """

    kind: ClassVar[str] = "segment_measured"
    sample: ClassVar[bool] = True
    stream: str
    segment_id: int
    start_offset: int
    write_offset: int
    bytes_per_s: float | None = None
    events_per_s: float | None = None
    events_how: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentAcquired(Observation):
    """A reader (of a group, or a query) owns a segment from now on."""

    kind: ClassVar[str] = "segment_acquired"
    stream: str
    segment_id: int
    reader: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentReleased(Observation):
    """A reader owns a segment no longer."""

    kind: ClassVar[str] = "segment_released"
    stream: str
    segment_id: int
    reader: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRead(Observation):
    """All bytes before ``offset`` have been read by ``reader``."""

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
    """A run ended. ``outcome``: "stopped", "failed", "killed" or "gone" (nobody saw how)."""

    kind: ClassVar[str] = "query_ended"
    query: str
    run: int
    outcome: str
    cause: str = ""
    cause_kind: str = LOGGED


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlanned(Observation):
    """A micro-batch stands in Spark's offset log: it will be done, if need be again. Offsets are JSON."""

    kind: ClassVar[str] = "batch_planned"
    query: str
    batch_id: int
    run: int
    end_offset: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPhase(Observation):
    """A part of a micro-batch, from ``time_ms`` for ``duration_ms``.

    Phases in order: ``plan read process prepare decision commit log``. ``work`` stands for read, process and
    prepare to commit together, where only their sum is known; ``offsets`` is Spark's offset log.
    """

    kind: ClassVar[str] = "batch_phase"
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
    """The observer itself could not look (store unreachable, file gone); what it shows is older than that."""

    kind: ClassVar[str] = "trouble"
    source: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Observation):
    """A sentence for the reader of the journal: a fault injected, a step of a lesson."""

    kind: ClassVar[str] = "note"
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMerged(Observation):
    """The journal ``source`` is in this one, its times moved by ``moved_ms`` onto one clock.

    The two clocks may differ by ``uncertain_ms`` more, either way; ``None``: nothing tells. ``how`` says from
    what this is known.
    """

    kind: ClassVar[str] = "source_merged"
    source: str
    moved_ms: int
    uncertain_ms: int | None
    how: str


def _kinds(root: type[Observation]) -> dict[str, type[Observation]]:
    found: dict[str, type[Observation]] = {}
    for cls in root.__subclasses__():
        found[cls.kind] = cls
        found |= _kinds(cls)
    return found


@cache
def kinds() -> dict[str, type[Observation]]:
    """All kinds by name, also those of modules that build on this one."""
    from pravega_lab.observe import (  # noqa: F401  (they define kinds)
        group_observations,
        job_observations,
        ledger_observations,
    )

    return _kinds(Observation)


@cache
def _names(kind: type[Observation]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name != "seq")


def numbered(observation: _O, seq: int) -> _O:
    """The observation with this ``seq``, as ``dataclasses.replace`` makes it, only several times as fast."""
    kind: Any = type(observation)
    made: _O = object.__new__(kind)
    for name in _names(kind):
        object.__setattr__(made, name, getattr(observation, name))
    object.__setattr__(made, "seq", seq)
    return made


def to_record(observation: Observation) -> dict[str, Any]:
    """The observation as JSON-ready values, ``kind`` first and fields in their declared order."""
    values = {field.name: getattr(observation, field.name) for field in fields(observation)}
    return {"kind": observation.kind, **values}


def from_record(record: dict[str, Any]) -> Observation | None:
    """The observation of a record, or ``None`` for a kind that this version does not know.

    Fields that this version does not know are left out. Raises ``TypeError`` when a field is missing.
    """
    cls = kinds().get(str(record.get("kind")))
    if cls is None:
        return None
    known = {field.name for field in fields(cls)}
    values: dict[str, Any] = {name: _frozen(value) for name, value in record.items() if name in known}
    return cls(**values)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value
