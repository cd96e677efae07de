"""The controller's metadata as records of the log: a key, and a value in JSON with the time of its
writing.

A record is the whole present state of one thing, and writing it again replaces it. The catalog is rebuilt
from the records alone. Keys are ``controller/<kind>/...``, and names contain no slash (pravega.md A1).
Epochs and transactions have their own keys, so a change costs only what it changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar

from pravega_lab.protocol.names import SegmentRange

from .epochs import EpochRecord
from .states import StreamState, TransactionState

PREFIX = "controller/"

NO_TIME = -(2**63)  # the timestamp of a commit that notes no time


@dataclass(frozen=True, slots=True)
class Record:
    """The base of all records. ``key()`` is where it is kept, ``now_ms`` the time at which it was written."""

    kind: ClassVar[str]
    now_ms: int

    def parts(self) -> tuple[str, ...]:
        """Return the names that distinguish this record from others of its kind."""
        raise NotImplementedError

    def key(self) -> str:
        """Return the key under which the record is kept."""
        return PREFIX + "/".join((self.kind, *self.parts()))

    def value(self) -> bytes:
        """Return the fields as JSON."""
        plain = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return json.dumps(plain, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class ScopeRecord(Record):
    """Records a scope."""

    kind: ClassVar[str] = "scope"
    scope: str

    def parts(self) -> tuple[str, ...]:
        """Return the scope."""
        return (self.scope,)


@dataclass(frozen=True, slots=True)
class OfStream(Record):
    """The base of records that belong to a stream."""

    scope: str
    stream: str

    def parts(self) -> tuple[str, ...]:
        """Return scope and stream."""
        return (self.scope, self.stream)


@dataclass(frozen=True, slots=True)
class StreamRecord(OfStream):
    """A stream. ``config`` is the encoded StreamConfig, exactly as clients receive it."""

    kind: ClassVar[str] = "stream"
    config: bytes
    state: StreamState


@dataclass(frozen=True, slots=True)
class StreamEpochRecord(OfStream):
    """Records an epoch of a stream."""

    kind: ClassVar[str] = "epoch"
    epoch: EpochRecord

    def parts(self) -> tuple[str, ...]:
        """Return scope, stream and the epoch, with digits that sort."""
        return (self.scope, self.stream, f"{self.epoch.epoch:010d}")


@dataclass(frozen=True, slots=True)
class TruncationRecord(OfStream):
    """The stream cut at which the stream begins."""

    kind: ClassVar[str] = "truncation"
    cut: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class RetentionRecord(OfStream):
    """The tail of a stream at the time of recording, at which retention may truncate later.

    Differences of ``size`` are the bytes between recorded cuts (pravega.md A7).
    """

    kind: ClassVar[str] = "retention"
    size: int
    cut: Mapping[int, int]

    def parts(self) -> tuple[str, ...]:
        """Return scope, stream and the time of recording, with digits that sort."""
        return (self.scope, self.stream, f"{self.now_ms:016d}")


@dataclass(frozen=True, slots=True)
class NumberRecord(OfStream):
    """The highest segment number that a deleted stream of this name or its mark stream has used (pravega.md
    A4).
    """

    kind: ClassVar[str] = "number"
    last_number: int


@dataclass(frozen=True, slots=True)
class TransactionRecord(OfStream):
    """A transaction.

    ``order`` is its position in the order of commits (0: none), ``lease_ms`` the granted lease.

    ``writer`` noted ``timestamp`` with the commit, `NO_TIME` if it noted none (pravega.md A10, A12).
    """

    kind: ClassVar[str] = "transaction"
    txn_id: int
    state: TransactionState
    lease_ms: int
    created_ms: int
    execution_ends_ms: int
    order: int = 0
    writer: str = ""
    timestamp: int = NO_TIME

    def parts(self) -> tuple[str, ...]:
        """Return scope, stream and the transaction id."""
        return (self.scope, self.stream, f"{self.txn_id:032x}")

    @property
    def epoch(self) -> int:
        """Return the epoch whose segments, or their duplicates, receive the events."""
        return self.txn_id >> 96


@dataclass(frozen=True, slots=True)
class CounterRecord(Record):
    """Transaction counters below ``reserved`` may have been used."""

    kind: ClassVar[str] = "counter"
    reserved: int

    def parts(self) -> tuple[str, ...]:
        """Return the one name that this kind has."""
        return ("transactions",)


@dataclass(frozen=True, slots=True)
class GroupRecord(Record):
    """A reader group. ``config`` is the encoded ReaderGroupConfiguration, exactly as clients receive it."""

    kind: ClassVar[str] = "group"
    scope: str
    group: str
    config: bytes

    def parts(self) -> tuple[str, ...]:
        """Return scope and group."""
        return (self.scope, self.group)


@dataclass(frozen=True, slots=True)
class SubscriberRecord(OfStream):
    """A reader group that holds back retention of a stream.

    ``subscriber`` is ``scope/group``. ``cut`` is empty until the group reports one (reader-groups.md B7).
    """

    kind: ClassVar[str] = "subscriber"
    subscriber: str
    cut: Mapping[int, int]

    def parts(self) -> tuple[str, ...]:
        """Return scope, stream and subscriber."""
        return (self.scope, self.stream, self.subscriber)


@dataclass(frozen=True, slots=True)
class WriterRecord(OfStream):
    """The latest time that a writer noted, and its position at that time (pravega.md A12)."""

    kind: ClassVar[str] = "writer"
    writer: str
    timestamp: int
    position: Mapping[int, int]

    def parts(self) -> tuple[str, ...]:
        """Return scope, stream and writer."""
        return (self.scope, self.stream, self.writer)


@dataclass(frozen=True, slots=True)
class WatermarkRecord(OfStream):
    """The last watermark that was written to the mark stream (pravega.md A12)."""

    kind: ClassVar[str] = "watermark"
    lower: int
    upper: int
    cut: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class OfTable(Record):
    """The base of records that belong to a key-value table."""

    scope: str
    table: str

    def parts(self) -> tuple[str, ...]:
        """Return scope and table."""
        return (self.scope, self.table)


@dataclass(frozen=True, slots=True)
class TableRecord(OfTable):
    """A key-value table: the encoded KeyValueTableConfig, and the number of its first segment."""

    kind: ClassVar[str] = "table"
    config: bytes
    first_number: int


@dataclass(frozen=True, slots=True)
class TableNumberRecord(OfTable):
    """The highest segment number that a deleted key-value table of this name has used."""

    kind: ClassVar[str] = "table-number"
    last_number: int


KINDS: dict[str, type[Record]] = {
    cls.kind: cls
    for cls in (
        ScopeRecord,
        NumberRecord,
        StreamRecord,
        StreamEpochRecord,
        TruncationRecord,
        RetentionRecord,
        TransactionRecord,
        CounterRecord,
        GroupRecord,
        SubscriberRecord,
        WriterRecord,
        WatermarkRecord,
        TableNumberRecord,
        TableRecord,
    )
}
"""All kinds, in the order in which recovery applies them: a stream before the records that belong to it."""


def decode(key: str, value: bytes) -> Record:
    """Return the record that was stored under ``key``."""
    kind = KINDS[key.removeprefix(PREFIX).split("/", 1)[0]]
    plain = json.loads(value)
    return kind(**{name: _DECODERS.get(name, _same)(plain[name], kind) for name in plain})


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return sorted(value.items())
    if isinstance(value, EpochRecord):
        created = [(s.segment_id, s.low, s.high) for s in value.created]
        return [value.epoch, value.reference_epoch, value.sealed, created, value.created_ms]
    return value


def _same(value: Any, kind: type[Record]) -> Any:
    return value


def _state(value: Any, kind: type[Record]) -> Enum:
    return StreamState(value) if kind is StreamRecord else TransactionState(value)


def _epoch(value: Any, kind: type[Record]) -> EpochRecord:
    epoch, reference, sealed, created, created_ms = value
    return EpochRecord(epoch, reference, tuple(sealed), tuple(SegmentRange(*c) for c in created), created_ms)


def _cut(value: Any, kind: type[Record]) -> dict[int, int]:
    return dict(value)


_DECODERS: dict[str, Callable[[Any, type[Record]], Any]] = {
    "config": lambda value, kind: bytes.fromhex(value),
    "state": _state,
    "epoch": _epoch,
    "cut": _cut,
    "position": _cut,
}
