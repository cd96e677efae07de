"""Make handles of reader groups and logs for a client. Only this module reads this machine's clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from pravega_lab.client.context import StoreAccess, StreamContext
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.client.reader_group.access import GroupAccess
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.sync import ReaderGroup
from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream
from pravega_lab.client.shared_state.sync import RevisionedStream, StateSynchronizer
from pravega_lab.client.shared_state.synchronizer import AsyncStateSynchronizer, StateFormat
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig, RetentionType
from pravega_lab.protocol.names import check_reader_group, split_scoped_name
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut

S = TypeVar("S")
U = TypeVar("U")
T = TypeVar("T")


class HasStoreAccess(Protocol):
    """Describes a `Client` as far as handles of groups and logs need it."""

    @property
    def _core(self) -> StoreAccess: ...


_ahead_ns = -(2**63)  # how much the wall clock was ahead of the monotonic clock at most


def wall_clock_ms() -> int:
    """Return the time of this machine in milliseconds since 1970.

    When the machine's clock is set back, the time continues at its usual rate. A reader whose time stood
    still would not notice checkpoints and free segments until the clock has caught up.
    """
    global _ahead_ns
    wall_ns, monotonic_ns = time.time_ns(), time.monotonic_ns()
    _ahead_ns = max(_ahead_ns, wall_ns - monotonic_ns)
    return (monotonic_ns + _ahead_ns) // 1_000_000


def async_reader_group(
    client: StoreAccess, scoped_name: str, clock_ms: Callable[[], int] = wall_clock_ms
) -> AsyncReaderGroup:
    """Return a handle of ``scope/group`` for programs with an event loop, without a request.

    Args:
        clock_ms: Returns milliseconds since 1970, where they do not come from this machine's clock.
    """
    check_reader_group(split_scoped_name(scoped_name)[1])
    return AsyncReaderGroup(lambda: GroupAccess(scoped_name, client._controller, client._stores, clock_ms))


def reader_group(client: HasStoreAccess, scoped_name: str) -> ReaderGroup:
    """Return a handle of ``scope/group`` without a request. Raises ``BadInputError`` for an invalid name."""
    check_reader_group(split_scoped_name(scoped_name)[1])
    return ReaderGroup(scoped_name, lambda: async_reader_group(client._core, scoped_name))


def reading(
    streams: Iterable[str],
    *,
    start: Iterable[StreamCut] = (),
    end: Iterable[StreamCut] = (),
    automatic_checkpoint_interval_ms: int = 30_000,
    group_refresh_time_ms: int = 3_000,
    max_outstanding_checkpoint_request: int = 3,
    retention_type: RetentionType = RetentionType.NONE,
) -> ReaderGroupConfig:
    """Return the configuration of a group that reads ``streams`` (``scope/stream``), with Java's defaults.

    Args:
        start: Where to begin in some streams. The others begin at their head.
        end: Where to stop in some streams. The others continue until they are sealed.
        automatic_checkpoint_interval_ms: -1: no automatic checkpoints. Successors of a segment become
            readable at a checkpoint only, so a program has to initiate checkpoints then.
        group_refresh_time_ms: How often each reader reads the state that the readers share. A shorter time
            makes readers notice checkpoints, released segments and other readers sooner, with more requests.
            Readers below their fair share refresh every second if this time is longer.
        retention_type: Whether the group holds back retention of its streams until it has released events:
            at each checkpoint (``AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT``), or when a program calls
            ``update_retention_stream_cut`` (``MANUAL_RELEASE_AT_USER_STREAMCUT``).

    Raises:
        BadInputError: An argument is of another form, a start is of a stream that is not in ``streams``, or a
            number is not a whole number from 1.

    Source: reader-groups.md B1.
    """
    streams = _listed("streams", streams, str, "names, such as reading(['scope/stream'])")
    for name in streams:
        split_scoped_name(name)
    start = _listed("start", start, StreamCut, "stream cuts, such as [stream.head()]")
    end = _listed("end", end, StreamCut, "stream cuts, such as [stream.tail()]")
    strangers = [cut.scoped_stream for cut in start if cut.scoped_stream not in streams]
    if strangers:
        raise BadInputError(f"reading(start=…): cuts of {strangers}, and the group reads {list(streams)}")
    if automatic_checkpoint_interval_ms != -1:
        _check_at_least_1("automatic_checkpoint_interval_ms", automatic_checkpoint_interval_ms, ", or -1")
    _check_at_least_1("group_refresh_time_ms", group_refresh_time_ms)
    _check_at_least_1("max_outstanding_checkpoint_request", max_outstanding_checkpoint_request)
    starts = dict.fromkeys(streams, UNBOUNDED) | {cut.scoped_stream: cut for cut in start}
    return ReaderGroupConfig(
        starts,
        {cut.scoped_stream: cut for cut in end},
        automatic_checkpoint_interval_ms,
        group_refresh_time_ms,
        max_outstanding_checkpoint_request,
        retention_type,
    )


def _listed(name: str, given: Any, kind: type[T], wanted: str) -> list[T]:
    if isinstance(given, Iterable) and not isinstance(given, str):
        items = list(given)
        if all(isinstance(one, kind) for one in items):
            return items
    raise BadInputError(f"reading(): {name}={given!r}; give a list of {wanted}")


def _check_at_least_1(name: str, number: object, other: str = "") -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise BadInputError(f"reading(): {name}={number!r}; give a whole number from 1{other}")


def async_revisioned_stream(client: StoreAccess, scoped_name: str) -> AsyncRevisionedStream:
    """Return a stream as a log, for the running loop, without a request."""
    return AsyncRevisionedStream(StreamContext(scoped_name, client._controller, client._stores))


def revisioned_stream(client: HasStoreAccess, scoped_name: str) -> RevisionedStream:
    """Return a stream of one segment as a log, without a request."""
    return RevisionedStream(loop_thread().run(_made_log(client._core, scoped_name)))


def state_synchronizer(
    client: HasStoreAccess, scoped_name: str, rules: StateFormat[S, U]
) -> StateSynchronizer[S, U]:
    """Return the state that programs share in a stream of one segment. Call `fetch` first."""
    log = loop_thread().run(_made_log(client._core, scoped_name))
    return StateSynchronizer(AsyncStateSynchronizer(log, rules))


async def _made_log(client: StoreAccess, scoped_name: str) -> AsyncRevisionedStream:
    return async_revisioned_stream(client, scoped_name)
