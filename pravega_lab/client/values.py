"""Define the values that the client takes and returns: policies, states, descriptions.

Source: pravega.md A3 to A10, D7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeAlias

from pravega_lab.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from pravega_lab.protocol.names import SegmentRange
    from pravega_lab.protocol.stream_cut import StreamCut

    Bytes: TypeAlias = bytes | bytearray | memoryview
    Frame: TypeAlias = pd.DataFrame | pl.DataFrame | pa.Table | pa.RecordBatch
    Events: TypeAlias = (
        Bytes
        | str
        | Sequence[bytes]
        | Sequence[str]
        | pa.Array
        | pa.ChunkedArray
        | pd.Series
        | pl.Series
        | Frame
    )
    Keys: TypeAlias = str | Sequence[str | None] | pa.Array | pa.ChunkedArray | pd.Series | pl.Series | None

KIB = 1024
MIB = 1024 * KIB
#: The longest lease of a transaction that a controller accepts, in milliseconds (pravega.md A10).
LEASE_MS_MAX = 600_000
LEASE_MS_MIN = 10_000
EVENT_BYTES_MAX = 8 * MIB  # payload of one event (pravega.md A11)
#: The version of an update of a table that has no condition (pravega.md A13).
NO_VERSION = -(2**63)
#: The version of an update of a table that applies only if the key is absent.
NOT_EXISTS = -1


def check_timeout(timeout_s: object, *, may_be_none: bool = True) -> None:
    """Refuse what is no number of seconds. Raises `BadInputError`."""
    if timeout_s is None and may_be_none:
        return
    if not isinstance(timeout_s, Real) or timeout_s != timeout_s:
        none = "; None waits without limit" if may_be_none else ""
        raise BadInputError(f"timeout_s={timeout_s!r:.80}: give seconds, such as 10.0{none}")


class Edge(Enum):
    """Names the head or the tail of a stream, in place of a stream cut; looked up when it is needed."""

    HEAD = "head"
    TAIL = "tail"


#: The head of a stream, in place of a stream cut: where the first event begins that is not truncated.
HEAD = Edge.HEAD
#: The tail of a stream, in place of a stream cut: the end of its last event when it is looked up.
TAIL = Edge.TAIL
if TYPE_CHECKING:
    Bound: TypeAlias = StreamCut | Edge


class ScalingKind(Enum):
    """Names the rate by which the store scales a stream automatically (pravega.md A6)."""

    FIXED = 0
    KBYTES_PER_S = 1
    EVENTS_PER_S = 2


@dataclass(frozen=True, slots=True)
class ScalingPolicy:
    """Says how many segments a stream has. Use `fixed`, `by_event_rate` or `by_data_rate`."""

    kind: ScalingKind
    target_rate: int
    scale_factor: int
    min_segments: int

    @classmethod
    def fixed(cls, n: int) -> ScalingPolicy:
        """Return a policy of ``n`` segments, which only a manual scale changes. Raises `BadInputError`."""
        _check_at_least_1("ScalingPolicy.fixed", n=n)
        return cls(ScalingKind.FIXED, 0, 0, n)

    @classmethod
    def by_event_rate(cls, target: int, factor: int = 2, min_segments: int = 1) -> ScalingPolicy:
        """Split a segment that takes more than ``target`` events/s, into at most ``factor`` parts.

        Raises:
            BadInputError: A number is not a whole number from 1.
        """
        _check_at_least_1(
            "ScalingPolicy.by_event_rate", target=target, factor=factor, min_segments=min_segments
        )
        return cls(ScalingKind.EVENTS_PER_S, target, factor, min_segments)

    @classmethod
    def by_data_rate(cls, kbytes_per_s: int, factor: int = 2, min_segments: int = 1) -> ScalingPolicy:
        """Split a segment that takes more than ``kbytes_per_s`` KiB/s, into at most ``factor`` parts.

        Raises:
            BadInputError: A number is not a whole number from 1.
        """
        _check_at_least_1(
            "ScalingPolicy.by_data_rate",
            kbytes_per_s=kbytes_per_s,
            factor=factor,
            min_segments=min_segments,
        )
        return cls(ScalingKind.KBYTES_PER_S, kbytes_per_s, factor, min_segments)


def _check_at_least_1(call: str, **numbers: int) -> None:
    for name, number in numbers.items():
        if not isinstance(number, Integral) or isinstance(number, bool) or number < 1:
            raise BadInputError(f"{call}: {name}={number!r}; give a whole number from 1")


class RetentionKind(Enum):
    """Names what a retention policy limits: time or size (pravega.md A7)."""

    NONE = 0
    TIME = 1
    SIZE = 2


NO_MAXIMUM = 2**63 - 1  # Java's form of a retention policy without a maximum


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Says what the store may truncate automatically. Use `none`, `by_time` or `by_size`.

    ``minimum`` and ``maximum`` are in milliseconds or bytes, by ``kind``. Once per period (30 minutes, unless
    the store is set up otherwise) the store records the tail of the stream as a cut, and truncates at the
    latest recorded cut that keeps the minimum. A stream therefore keeps up to one period more.

    Reader groups with a retention type (`reading`) hold back the truncation: events that one of them has not
    released are kept, even beyond the minimum, until they exceed the maximum.

    Source: pravega.md A7.
    """

    kind: RetentionKind
    minimum: int = 0
    maximum: int = NO_MAXIMUM

    @classmethod
    def none(cls) -> RetentionPolicy:
        """Return a policy that keeps everything."""
        return cls(RetentionKind.NONE)

    @classmethod
    def by_time(cls, minimum_ms: int, maximum_ms: int | None = None) -> RetentionPolicy:
        """Keep at least the events of the last ``minimum_ms`` milliseconds.

        Args:
            maximum_ms: How long events are kept for reader groups that have not released them. None: as long
                as these groups need them.

        Raises:
            BadInputError: A number is not a whole number from 0, or the maximum is below the minimum.
        """
        _check_limits("RetentionPolicy.by_time", minimum_ms=minimum_ms, maximum_ms=maximum_ms)
        return cls(RetentionKind.TIME, minimum_ms, NO_MAXIMUM if maximum_ms is None else maximum_ms)

    @classmethod
    def by_size(cls, minimum_bytes: int, maximum_bytes: int | None = None) -> RetentionPolicy:
        """Keep at least the last ``minimum_bytes`` bytes of the stream.

        Args:
            maximum_bytes: How many bytes are kept for reader groups that have not released them. None: as
                many as these groups need.

        Raises:
            BadInputError: A number is not a whole number from 0, or the maximum is below the minimum.
        """
        _check_limits("RetentionPolicy.by_size", minimum_bytes=minimum_bytes, maximum_bytes=maximum_bytes)
        return cls(RetentionKind.SIZE, minimum_bytes, NO_MAXIMUM if maximum_bytes is None else maximum_bytes)


def _check_limits(call: str, **limits: int | None) -> None:
    for name, number in limits.items():
        if number is None and name.startswith("maximum"):
            continue
        if not isinstance(number, Integral) or isinstance(number, bool) or not 0 <= number <= NO_MAXIMUM:
            raise BadInputError(f"{call}: {name}={number!r}; give a whole number from 0 to 2**63 - 1")
    (low_name, low), (high_name, high) = limits.items()
    if low is not None and high is not None and high < max(low, 1):
        raise BadInputError(
            f"{call}: {high_name}={high} is below {low_name}={low} or 1; give a larger maximum"
        )


@dataclass(frozen=True, slots=True)
class StreamConfiguration:
    """Holds what a stream was created or last updated with."""

    scaling: ScalingPolicy = field(default_factory=lambda: ScalingPolicy.fixed(1))
    retention: RetentionPolicy = field(default_factory=RetentionPolicy.none)
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.scaling, ScalingPolicy):
            raise BadInputError(
                f"scaling={self.scaling!r} is no policy; give ScalingPolicy.fixed(segments),"
                " ScalingPolicy.by_event_rate(events_per_s) or ScalingPolicy.by_data_rate(kbytes_per_s)"
            )
        if not isinstance(self.retention, RetentionPolicy):
            raise BadInputError(
                f"retention={self.retention!r} is no policy; give RetentionPolicy.by_time(milliseconds) or"
                " RetentionPolicy.by_size(bytes)"
            )


@dataclass(frozen=True, slots=True)
class Successor:
    """Holds a successor of a segment, and the ids of all its predecessors (pravega.md A5)."""

    segment: SegmentRange
    predecessors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """Says where a segment begins and ends, in bytes. ``last_modified_ms`` is the store's wall clock."""

    start_offset: int
    write_offset: int
    is_sealed: bool
    last_modified_ms: int


class TransactionState(Enum):
    """Names the states of pravega.md A10. ``UNKNOWN``: it never existed, or ended more than 24 h ago."""

    UNKNOWN = 0
    OPEN = 1
    COMMITTING = 2
    COMMITTED = 3
    ABORTING = 4
    ABORTED = 5


@dataclass(frozen=True, slots=True)
class TableValue:
    """Holds a value of a table segment, and the version that the next conditional update names."""

    value: bytes
    version: int
