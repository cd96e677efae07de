"""Handles of reader groups for a client. The clock of this machine is taken here and nowhere below."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.context import StreamContext
from pravega_lab.client.face import Client
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.client.reader_group.access import GroupAccess
from pravega_lab.client.reader_group.face import ReaderGroup
from pravega_lab.client.reader_group.face_state import RevisionedStream, StateSynchronizer
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.revisioned import AsyncRevisionedStream
from pravega_lab.client.reader_group.synchronizer import AsyncStateSynchronizer, StateFormat
from pravega_lab.protocol.names import check_stream, split_scoped_name
from pravega_lab.protocol.reader_group import ReaderGroupConfig, RetentionType
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut

S = TypeVar("S")
U = TypeVar("U")


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


def async_reader_group(
    client: AsyncClient, scoped_name: str, clock_ms: Callable[[], int] = wall_clock_ms
) -> AsyncReaderGroup:
    """A handle of ``scope/group`` for programs with a loop; asks nothing.

    Args:
        clock_ms: Milliseconds since 1970, where time is not that of this machine.
    """
    check_stream(split_scoped_name(scoped_name)[1])
    return AsyncReaderGroup(lambda: GroupAccess(scoped_name, client._controller, client._stores, clock_ms))


def reader_group(client: Client, scoped_name: str) -> ReaderGroup:
    """A handle of ``scope/group``; asks nothing. Raises ``BadInputError`` for no such name."""
    check_stream(split_scoped_name(scoped_name)[1])
    return ReaderGroup(scoped_name, lambda: async_reader_group(client._core, scoped_name))


def reading(
    streams: Sequence[str],
    *,
    start: Sequence[StreamCut] = (),
    end: Sequence[StreamCut] = (),
    automatic_checkpoint_interval_ms: int = 30_000,
    group_refresh_time_ms: int = 3_000,
    max_outstanding_checkpoint_request: int = 3,
    retention_type: RetentionType = RetentionType.NONE,
) -> ReaderGroupConfig:
    """The configuration of a group that reads ``streams`` (``scope/stream``), with Java's defaults (B1).

    Args:
        start: Where to begin in some of them; the others begin at their head.
        end: Where to stop in some of them; the others go on until they are sealed.
        automatic_checkpoint_interval_ms: -1: no automatic checkpoints. Successors of a segment become
            readable at a checkpoint only, so somebody has to initiate them then.
    """
    starts = dict.fromkeys(streams, UNBOUNDED) | {cut.scoped_stream: cut for cut in start}
    return ReaderGroupConfig(
        starts,
        {cut.scoped_stream: cut for cut in end},
        automatic_checkpoint_interval_ms,
        group_refresh_time_ms,
        max_outstanding_checkpoint_request,
        retention_type,
    )


def async_revisioned_stream(client: AsyncClient, scoped_name: str) -> AsyncRevisionedStream:
    """A stream as a log; on the running loop. Asks nothing."""
    return AsyncRevisionedStream(StreamContext(scoped_name, client._controller, client._stores))


def revisioned_stream(client: Client, scoped_name: str) -> RevisionedStream:
    """A stream (of one segment) as a log. Asks nothing."""
    return RevisionedStream(loop_thread().run(_made_log(client._core, scoped_name)))


def state_synchronizer(client: Client, scoped_name: str, rules: StateFormat[S, U]) -> StateSynchronizer[S, U]:
    """The state that programs share in a stream of one segment. Asks nothing; `fetch` first."""
    log = loop_thread().run(_made_log(client._core, scoped_name))
    return StateSynchronizer(AsyncStateSynchronizer(log, rules))


async def _made_log(client: AsyncClient, scoped_name: str) -> AsyncRevisionedStream:
    return async_revisioned_stream(client, scoped_name)
