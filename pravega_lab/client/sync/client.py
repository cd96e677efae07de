"""Provide `connect` and `Client`: scopes, streams, tables and reader groups of one store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, Unpack

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.connection.access import AccessOptions, safe_to_print
from pravega_lab.client.loop_thread import OfThisProcess
from pravega_lab.client.sync.core import run
from pravega_lab.client.sync.key_value_tables import KeyValueTable
from pravega_lab.client.sync.stream import Stream
from pravega_lab.client.sync.tables import Table
from pravega_lab.client.values import RetentionPolicy, ScalingPolicy
from pravega_lab.portable.closing import ClosedByWith

if TYPE_CHECKING:
    from pravega_lab.client.reader_group.sync import ReaderGroup
    from pravega_lab.client.shared_state.sync import RevisionedStream, StateSynchronizer
    from pravega_lab.client.shared_state.synchronizer import StateFormat
    from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig

S = TypeVar("S")
U = TypeVar("U")


def connect(
    uri: str = "tcp://127.0.0.1:9090", *, retry_for_s: float = 30.0, **access: Unpack[AccessOptions]
) -> Client:
    """Return a client of the store at ``uri``. It connects with its first call.

    Args:
        uri: ``tcp://host:port`` of a controller, ``tls://host:port`` of one with TLS. ``host:port`` is tcp.
        retry_for_s: How many seconds a call retries after it lost a connection that worked. A controller
            that never answered fails the call after 5 s.
        access: ``ca_file``, ``credentials``, ``credentials_file``, ``validate_host_name`` and ``rewrite``;
            see `AccessOptions`.

    Raises:
        BadInputError: ``uri`` is no address of a controller, or an option cannot work.
    """
    return Client(uri, retry_for_s=retry_for_s, **access)


class Client(ClosedByWith, OfThisProcess):
    """Gives access to the scopes, streams and tables of one store. Leaving a ``with`` block closes it.

    Every call raises `StoreUnavailableError`, with the address, when the store does not answer, `TlsError`
    when no safe connection can be made, and `AccessDeniedError` when the store rejects the credentials.
    """

    def __init__(self, uri: str, *, retry_for_s: float = 30.0, **access: Unpack[AccessOptions]) -> None:
        self.uri = uri
        self.access = safe_to_print(access)
        """How it connects: what was passed as ``access``. Credentials in it are not printed."""
        self._new_core = partial(AsyncClient, uri, retry_for_s=retry_for_s, **self.access)
        self._cores = {os.getpid(): self._new_core()}

    @property
    def _core(self) -> AsyncClient:
        core = self._cores.get(os.getpid())
        if core is None:
            core = self._cores[os.getpid()] = self._new_core()
        return core

    def list_scopes(self) -> list[str]:
        """Return the names of all scopes, ``_system`` included, sorted."""
        return run(self._core.list_scopes())

    def create_scope(self, scope: str) -> bool:
        """Create a scope and return True, or False if it existed.

        Raises `BadInputError` for a name that breaks the rules of pravega.md A1.
        """
        return run(self._core.create_scope(scope))

    def delete_scope(self, scope: str, *, recursive: bool = False) -> bool:
        """Delete a scope and return True, or False if there was none.

        Args:
            recursive: Delete its reader groups, key-value tables and streams, too. Each is a step of its own:
                after an error some of them may be gone, and the same call continues. A `Table` is unknown to
                the controller: delete it before.

        Raises `NotEmptyError` for a scope that holds something, without ``recursive``.
        """
        return run(self._core.delete_scope(scope, recursive=recursive))

    def list_streams(self, scope: str, tag: str | None = None) -> list[str]:
        """Return the names of the streams of ``scope``, sorted; with ``tag``, only those that have it.

        Internal streams (``_MARK…``, ``_RG…``) are left out. Raises `ScopeNotFoundError`.
        """
        return run(self._core.list_streams(scope, tag))

    def list_reader_groups(self, scope: str) -> list[str]:
        """Return the names of the reader groups of ``scope``, sorted. Raises `ScopeNotFoundError`."""
        return run(self._core.list_reader_groups(scope))

    def create_stream(
        self,
        scoped_name: str,
        *,
        scaling: ScalingPolicy = ScalingPolicy.fixed(1),
        retention: RetentionPolicy = RetentionPolicy.none(),
        tags: Sequence[str] = (),
        create_scope: bool = True,
    ) -> Stream:
        """Create ``scope/stream``, and its scope unless ``create_scope`` is False. Return the stream.

        Args:
            scaling: Number of segments, and when the store splits and merges them. By default there is one.
            retention: What the store truncates. By default it keeps all events.
            tags: Labels by which `list_streams` finds the stream.

        Raises:
            AlreadyExistsError: The stream exists, with any configuration.
            ScopeNotFoundError: There is no such scope, and ``create_scope`` is False.
            BadInputError: The name or a policy can never work.
        """
        core = self._core.create_stream(
            scoped_name, scaling=scaling, retention=retention, tags=tags, create_scope=create_scope
        )
        return Stream(self, run(core).scoped_name)

    def stream(self, scoped_name: str) -> Stream:
        """Return a handle of ``scope/stream`` without a request: the stream need not exist."""
        return Stream(self, self._core.stream(scoped_name).scoped_name)

    def table(self, scoped_name: str) -> Table:
        """Return a handle of the table segment ``scope/name`` without a request. See `Table.create`."""
        return Table(self, self._core.table(scoped_name).scoped_name)

    def create_key_value_table(
        self,
        scoped_name: str,
        primary_key_length: int,
        secondary_key_length: int = 0,
        *,
        partitions: int = 1,
        create_scope: bool = True,
    ) -> KeyValueTable:
        """Create the key-value table ``scope/table``, and its scope unless ``create_scope`` is False.

        Args:
            primary_key_length: The number of bytes of every primary key, at least 1.
            secondary_key_length: That of every secondary key, 0 for a table without secondary keys. Both
                together have at most 256 bytes.
            partitions: The number of segments that share the primary keys. None of this can change later.

        Raises:
            AlreadyExistsError: The table exists, with any configuration.
            ScopeNotFoundError: There is no such scope, and ``create_scope`` is False.
            BadInputError: The name or a number can never work.
        """
        core = self._core.create_key_value_table(
            scoped_name,
            primary_key_length,
            secondary_key_length,
            partitions=partitions,
            create_scope=create_scope,
        )
        return KeyValueTable(self, run(core).scoped_name)

    def key_value_table(self, scoped_name: str) -> KeyValueTable:
        """Return a handle of the key-value table ``scope/table`` without a request."""
        return KeyValueTable(self, self._core.key_value_table(scoped_name).scoped_name)

    def list_key_value_tables(self, scope: str) -> list[str]:
        """Return the names of the key-value tables of ``scope``, sorted. Raises `ScopeNotFoundError`."""
        return run(self._core.list_key_value_tables(scope))

    def revisioned_stream(self, scoped_name: str) -> RevisionedStream:
        """Return the stream ``scope/stream`` as a log with conditional appends, without a request.

        It needs a stream of one segment that is never scaled, and that holds nothing but the log.
        """
        from pravega_lab.client.reader_group.opening import revisioned_stream

        return revisioned_stream(self, scoped_name)

    def state_synchronizer(self, scoped_name: str, rules: StateFormat[S, U]) -> StateSynchronizer[S, U]:
        """Return the state that programs share in ``scope/stream``, without a request. Call `fetch` first.

        Args:
            scoped_name: A stream of one segment, as for `revisioned_stream`.
            rules: The kind of state and its bytes: a `JsonFormat`, or your own `StateFormat`.
        """
        from pravega_lab.client.reader_group.opening import state_synchronizer

        return state_synchronizer(self, scoped_name, rules)

    def reader_group(self, scoped_name: str) -> ReaderGroup:
        """Return a handle of the reader group ``scope/group`` without a request: the group need not exist."""
        from pravega_lab.client.reader_group.opening import reader_group

        return reader_group(self, scoped_name)

    def create_reader_group(self, scoped_name: str, config: ReaderGroupConfig) -> ReaderGroup:
        """Create the group ``scope/group`` and return it; a group with the same configuration may exist.

        Args:
            config: As ``reader_group.reading(["scope/stream"], …)`` returns it.

        Raises:
            ConfigMismatchError: The group exists with another configuration.
            ScopeNotFoundError, StreamNotFoundError: Its scope, or a stream that it reads, is missing.

        Source: reader-groups.md B1.
        """
        group = self.reader_group(scoped_name)
        group.create(config)
        return group

    def close(self) -> None:
        """Flush and close everything that this process opened through this client. May be called twice.

        A writer that the program has not closed is closed, too, with a ``RuntimeWarning``.
        """
        run(self._core.close())

    def __repr__(self) -> str:
        return f"Client({self.uri!r})"
