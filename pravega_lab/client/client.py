"""Provide `AsyncClient`: scopes, streams and tables of one store, on the caller's event loop."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from random import Random
from typing import TYPE_CHECKING, Unpack
from urllib.parse import urlsplit

from pravega_lab.client.connection.access import Access, AccessOptions
from pravega_lab.client.connection.dialer import Dialer, Endpoint
from pravega_lab.client.connection.own_stores import with_own_credentials
from pravega_lab.client.context import StreamContext
from pravega_lab.client.controller.calls import Controller
from pravega_lab.client.controller.grpc_link import GrpcLink
from pravega_lab.client.controller.link import ControllerLink
from pravega_lab.client.controller.link_here import link_to
from pravega_lab.client.scaling import check_policy
from pravega_lab.client.segment_stores import SegmentStores
from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream
from pravega_lab.client.shared_state.synchronizer import AsyncStateSynchronizer, S, StateFormat, U
from pravega_lab.client.stream import AsyncStream
from pravega_lab.client.tables.controller_calls import create_table, list_tables
from pravega_lab.client.tables.key_value_table import AsyncKeyValueTable
from pravega_lab.client.tables.table import AsyncTable
from pravega_lab.client.tables.values import KeyValueTableConfiguration
from pravega_lab.client.values import RetentionPolicy, ScalingPolicy, StreamConfiguration
from pravega_lab.errors import AccessDeniedError, BadInputError, ScopeNotFoundError
from pravega_lab.portable.closing import ClosedByAsyncWith
from pravega_lab.portable.waiting import call_all
from pravega_lab.protocol.names import (
    READER_GROUP_PREFIX,
    check_scope,
    check_stream,
    check_table,
    split_scoped_name,
)

if TYPE_CHECKING:
    from pravega_lab.client.reader_group.group import AsyncReaderGroup
    from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig

TLS = "tls"


class AsyncClient(ClosedByAsyncWith):
    """Implements `sync.Client` with asyncio, under the same contract. It connects with its first call.

    Args:
        uri: ``tcp://host:port`` of a controller, ``tls://host:port`` with TLS.
        retry_for_s: As in `sync.connect`.
        link: Replaces the gRPC channel to ``uri`` in a simulation. Simulations kill programs on purpose, so a
            writer that such a client leaves open causes no warning.
        clock_ms: Replaces the clock of this machine for reader groups in a simulation.
        chance: The source of writer ids, of routes for events without a key, and of pauses between retries.
        access: See `AccessOptions`.
    """

    def __init__(
        self,
        uri: str,
        *,
        retry_for_s: float = 30.0,
        link: ControllerLink | None = None,
        clock_ms: Callable[[], int] | None = None,
        chance: Random | None = None,
        **access: Unpack[AccessOptions],
    ) -> None:
        self.uri = uri
        scheme, endpoint = parse_address(uri)
        given = Access.of(access)
        dialer = Dialer(with_own_credentials(given, *endpoint) if link is None else given, scheme == TLS)
        dialer.check_secrets(endpoint)
        self._warns = link is None
        self._clock_ms = clock_ms
        chance = chance or Random(os.urandom(16))
        link = link or link_to(*endpoint) or GrpcLink(endpoint, dialer)
        self._controller = Controller(link, f"{scheme}://{endpoint}", dialer.access, retry_for_s, chance)
        self._stores = SegmentStores(self._controller, dialer, retry_for_s, chance)
        self._streams: dict[str, AsyncStream] = {}
        self._tables: dict[str, AsyncKeyValueTable] = {}

    async def list_scopes(self) -> list[str]:
        """Return the names of all scopes."""
        return await self._controller.list_scopes()

    async def create_scope(self, scope: str) -> bool:
        """Create a scope and return True, or False if it existed."""
        return await self._controller.create_scope(check_scope(scope))

    async def delete_scope(self, scope: str, *, recursive: bool = False) -> bool:
        """Delete a scope and return True, or False if there was none.

        ``recursive``: with its streams, groups and tables. The scope is gone when the call returns.

        Raises:
            NotEmptyError: it has streams, groups or tables, and ``recursive`` is False.
            StoreUnavailableError: the controller does not answer, or deletes for longer than is allowed.
        """
        return await self._controller.delete_scope(scope, recursive=recursive)

    async def list_streams(self, scope: str, tag: str | None = None) -> list[str]:
        """Return the names of the streams of a scope."""
        names = await self._controller.list_streams(scope, tag)
        return [name for name in names if not name.startswith("_")]

    async def list_reader_groups(self, scope: str) -> list[str]:
        """Return the names of the reader groups of a scope."""
        names = await self._controller.list_streams(scope, None)
        return sorted(n.removeprefix(READER_GROUP_PREFIX) for n in names if n.startswith(READER_GROUP_PREFIX))

    async def create_stream(
        self,
        scoped_name: str,
        *,
        scaling: ScalingPolicy = ScalingPolicy.fixed(1),
        retention: RetentionPolicy = RetentionPolicy.none(),
        tags: Sequence[str] = (),
        create_scope: bool = True,
    ) -> AsyncStream:
        """Create a stream and return it."""
        scope, name = split_scoped_name(scoped_name)
        check_stream(name)
        configuration = StreamConfiguration(scaling, retention, tuple(tags))
        check_policy(scoped_name, scaling)
        async with self._in_scope(scope) if create_scope else nullcontext():
            await self._controller.create_stream(scoped_name, configuration)
        return self.stream(scoped_name)

    def stream(self, scoped_name: str) -> AsyncStream:
        """Return a stream (``scope/stream``), without checking that it exists."""
        if scoped_name not in self._streams:
            context = StreamContext(scoped_name, self._controller, self._stores)
            self._streams[scoped_name] = AsyncStream(context, warns=self._warns)
        return self._streams[scoped_name]

    def table(self, scoped_name: str) -> AsyncTable:
        """Return a table (``scope/table``), without checking that it exists."""
        return AsyncTable(scoped_name, self._stores)

    async def create_key_value_table(
        self,
        scoped_name: str,
        primary_key_length: int,
        secondary_key_length: int = 0,
        *,
        partitions: int = 1,
        create_scope: bool = True,
    ) -> AsyncKeyValueTable:
        """Create a key-value table and return it."""
        scope, name = split_scoped_name(scoped_name)
        check_table(name)
        configuration = KeyValueTableConfiguration(primary_key_length, secondary_key_length, partitions)
        async with self._in_scope(scope) if create_scope else nullcontext():
            await create_table(self._controller, scoped_name, configuration)
        return self.key_value_table(scoped_name)

    def key_value_table(self, scoped_name: str) -> AsyncKeyValueTable:
        """Return a key-value table (``scope/table``), without checking that it exists."""
        if scoped_name not in self._tables:
            self._tables[scoped_name] = AsyncKeyValueTable(scoped_name, self._controller, self._stores)
        return self._tables[scoped_name]

    async def list_key_value_tables(self, scope: str) -> list[str]:
        """Return the names of the key-value tables of a scope."""
        return await list_tables(self._controller, scope)

    def revisioned_stream(self, scoped_name: str) -> AsyncRevisionedStream:
        """Return a stream of one segment as a log, without checking that it exists."""
        return AsyncRevisionedStream(StreamContext(scoped_name, self._controller, self._stores))

    def state_synchronizer(self, scoped_name: str, rules: StateFormat[S, U]) -> AsyncStateSynchronizer[S, U]:
        """Return the state that programs share in a stream of one segment. Await `fetch` first."""
        return AsyncStateSynchronizer(self.revisioned_stream(scoped_name), rules)

    def reader_group(self, scoped_name: str) -> AsyncReaderGroup:
        """Return a handle of a reader group (``scope/group``), without checking that it exists."""
        from pravega_lab.client.reader_group.opening import async_reader_group, wall_clock_ms

        return async_reader_group(self, scoped_name, self._clock_ms or wall_clock_ms)

    async def create_reader_group(self, scoped_name: str, config: ReaderGroupConfig) -> AsyncReaderGroup:
        """Create a reader group and return its handle."""
        group = self.reader_group(scoped_name)
        await group.create(config)
        return group

    @asynccontextmanager
    async def _in_scope(self, scope: str) -> AsyncIterator[None]:
        """Create a scope for what is created in the block. A user of one scope may not create any."""
        denied = None
        try:
            await self.create_scope(scope)
        except AccessDeniedError as error:
            denied = error  # the scope may be there
        try:
            yield
        except ScopeNotFoundError:
            if denied is not None:
                raise denied from None
            raise

    async def close(self) -> None:
        """Close all streams and connections. Writers are flushed before.

        In a later event loop than the client's own, a writer whose events are not all acknowledged raises.
        """
        self._stores.check_closing()
        streams = [stream.close for stream in self._streams.values()]
        await call_all(*streams, self._stores.close, self._controller.close)


def parse_address(uri: str) -> tuple[str, Endpoint]:
    """Return scheme (``tcp`` or ``tls``) and endpoint of a controller. Raises `BadInputError`."""
    wanted = "write tcp://host:port, or tls://host:port for a controller with TLS"
    if not isinstance(uri, str):
        raise BadInputError(f"{uri!r} is no address of a controller; {wanted}")
    if "@" in uri:
        raise BadInputError("an address has no user or password in it: pass credentials=(user, password)")
    try:
        parts = urlsplit(uri if "://" in uri else f"tcp://{uri}")
        port = parts.port
    except ValueError as error:
        raise BadInputError(f"{uri!r} is no address of a controller: {error}; {wanted}") from error
    is_more = parts.path.strip("/") or parts.query or parts.fragment
    if parts.scheme not in ("tcp", TLS) or not parts.hostname or " " in parts.hostname or not port or is_more:
        raise BadInputError(f"{uri!r} is no address of a controller; {wanted}")
    return parts.scheme, Endpoint(parts.hostname, port)
