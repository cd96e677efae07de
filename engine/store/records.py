"""The controller's metadata as records of the log: a key, and a value in JSON that says when it was written.

A record is the whole present state of one thing; writing it again replaces it. What the controller knows is
rebuilt from them alone (``catalog``). Keys are ``controller/<kind>/...``; names hold no slash (A1).
Epochs and transactions have keys of their own, so a change costs what it changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar

from pravega_lab.engine.store.epochs import EpochRecord
from pravega_lab.engine.store.states import StreamState, TransactionState
from pravega_lab.protocol.names import SegmentRange

PREFIX = "controller/"

NO_TIME = -(2**63)  # what a commit that notes no time has in place of one


@dataclass(frozen=True, slots=True)
class Record:
    """Base of all: ``key()`` is where it is kept, ``now_ms`` the time at which it was written."""

    kind: ClassVar[str]
    now_ms: int

    def parts(self) -> tuple[str, ...]:
        """What tells this record from others of its kind."""
        raise NotImplementedError

    def key(self) -> str:
        return PREFIX + "/".join((self.kind, *self.parts()))

    def value(self) -> bytes:
        plain = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return json.dumps(plain, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class ScopeRecord(Record):
    kind: ClassVar[str] = "scope"
    scope: str

    def parts(self) -> tuple[str, ...]:
        return (self.scope,)


@dataclass(frozen=True, slots=True)
class OfStream(Record):
    """A record that belongs to a stream."""

    scope: str
    stream: str

    def parts(self) -> tuple[str, ...]:
        return (self.scope, self.stream)


@dataclass(frozen=True, slots=True)
class StreamRecord(OfStream):
    """``config`` is the encoded StreamConfig, as it is answered."""

    kind: ClassVar[str] = "stream"
    config: bytes
    state: StreamState


@dataclass(frozen=True, slots=True)
class StreamEpochRecord(OfStream):
    kind: ClassVar[str] = "epoch"
    epoch: EpochRecord

    def parts(self) -> tuple[str, ...]:
        return (self.scope, self.stream, f"{self.epoch.epoch:010d}")


@dataclass(frozen=True, slots=True)
class TruncationRecord(OfStream):
    """Where the stream begins."""

    kind: ClassVar[str] = "truncation"
    cut: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class NumberRecord(OfStream):
    """The highest segment number that a deleted stream of this name has used (A4)."""

    kind: ClassVar[str] = "number"
    last_number: int


@dataclass(frozen=True, slots=True)
class TransactionRecord(OfStream):
    """``order`` is the commit order position (0: none); ``lease_ms`` the granted lease; A10.

    ``writer`` noted ``timestamp`` with the commit; `NO_TIME`: it noted none (A12).
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
        return (self.scope, self.stream, f"{self.txn_id:032x}")

    @property
    def epoch(self) -> int:
        """The epoch whose segments, duplicated if need be, take the events."""
        return self.txn_id >> 96


@dataclass(frozen=True, slots=True)
class CounterRecord(Record):
    """Transaction counters below ``reserved`` may have been given out."""

    kind: ClassVar[str] = "counter"
    reserved: int

    def parts(self) -> tuple[str, ...]:
        return ("transactions",)


@dataclass(frozen=True, slots=True)
class GroupRecord(Record):
    """A reader group; ``config`` is the encoded ReaderGroupConfiguration, as it is answered."""

    kind: ClassVar[str] = "group"
    scope: str
    group: str
    config: bytes

    def parts(self) -> tuple[str, ...]:
        return (self.scope, self.group)


@dataclass(frozen=True, slots=True)
class SubscriberRecord(OfStream):
    """A group that holds back retention; ``subscriber`` is scope/group, ``cut`` empty at first (B7)."""

    kind: ClassVar[str] = "subscriber"
    subscriber: str
    cut: Mapping[int, int]

    def parts(self) -> tuple[str, ...]:
        return (self.scope, self.stream, self.subscriber)


@dataclass(frozen=True, slots=True)
class WriterRecord(OfStream):
    """The newest time that a writer noted, and its position then (A12)."""

    kind: ClassVar[str] = "writer"
    writer: str
    timestamp: int
    position: Mapping[int, int]

    def parts(self) -> tuple[str, ...]:
        return (self.scope, self.stream, self.writer)


@dataclass(frozen=True, slots=True)
class WatermarkRecord(OfStream):
    """The last watermark written to the mark stream (A12)."""

    kind: ClassVar[str] = "watermark"
    lower: int
    upper: int
    cut: Mapping[int, int]


KINDS: dict[str, type[Record]] = {
    cls.kind: cls
    for cls in (
        ScopeRecord,
        NumberRecord,
        StreamRecord,
        StreamEpochRecord,
        TruncationRecord,
        TransactionRecord,
        CounterRecord,
        GroupRecord,
        SubscriberRecord,
        WriterRecord,
        WatermarkRecord,
    )
}
"""Every kind, in the order in which recovery reads them: a stream before what belongs to it."""


def decode(key: str, value: bytes) -> Record:
    """The record that was stored under ``key``."""
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
