"""Handles of reader groups for a client. The clock of this machine is taken here and nowhere below."""

from __future__ import annotations

import time

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.face import Client
from pravega_lab.client.reader_group.access import GroupAccess
from pravega_lab.client.reader_group.face import ReaderGroup
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.protocol.names import check_stream, split_scoped_name


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


def async_reader_group(client: AsyncClient, scoped_name: str) -> AsyncReaderGroup:
    """A handle of ``scope/group`` for programs with a loop; asks nothing."""
    check_stream(split_scoped_name(scoped_name)[1])
    return AsyncReaderGroup(
        lambda: GroupAccess(scoped_name, client._controller, client._stores, wall_clock_ms)
    )


def reader_group(client: Client, scoped_name: str) -> ReaderGroup:
    """A handle of ``scope/group``; asks nothing. Raises ``BadInputError`` for no such name."""
    check_stream(split_scoped_name(scoped_name)[1])
    return ReaderGroup(scoped_name, lambda: async_reader_group(client._core, scoped_name))
