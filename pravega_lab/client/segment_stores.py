"""Find the segment stores of a cluster: where each segment is, and the connections to its store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any, TypeVar, cast

from pravega_lab.client.connection.connection import Connection, ConnectionLostError, Reply, open_connection
from pravega_lab.client.connection.dialer import Dialer, Endpoint
from pravega_lab.client.connection.retry import FullError, Retries, TransientError, retrying
from pravega_lab.client.connection.tokens import Tokens, is_write, refused
from pravega_lab.client.controller.calls import Controller
from pravega_lab.errors import (
    AccessDeniedError,
    BadInputError,
    Definite,
    PravegaError,
    RefusedError,
    SegmentNotFoundError,
)
from pravega_lab.portable.waiting import cancel_all, gather, is_being_cancelled, shield
from pravega_lab.protocol.wire.commands import (
    AuthTokenCheckFailed,
    Command,
    ErrorCode,
    ErrorMessage,
    NoSuchSegment,
    OperationUnsupported,
    WrongHost,
)

T = TypeVar("T")


class MovedError(TransientError):
    """Raised when another store serves the segment now."""


class UnreachableError(TransientError):
    """Raised when no segment store answers at the address from the controller."""


WRITER_CONNECTIONS_MAX = 10
"""The connections of all writers of a client to one segment store, as in Java's pool (pravega.md D6)."""

NOT_DONE = (MovedError, UnreachableError, FullError, ConnectionRefusedError)
"""The failures of an attempt that certainly changed nothing."""


class SegmentStores:
    """Finds and asks segment stores. Short requests share one connection per store; `open` makes others.

    ``writers`` has the connections of writers and transactions.
    """

    def __init__(self, controller: Controller, dialer: Dialer, retry_for_s: float, chance: Random) -> None:
        self.retry_for_s = retry_for_s
        self.chance = chance
        self.tokens = Tokens(controller.delegation_token, dialer.access.has_credentials)
        self._controller = controller
        self._dialer = dialer
        self._reached: set[Endpoint] = set()
        self._endpoints: dict[tuple[str, int], Endpoint] = {}
        self._shared = Connections(self)
        self.writers = WriterConnections(self)
        self._own: list[Connection] = []
        self._loop: asyncio.AbstractEventLoop | None = None  # which the connections belong to
        self._is_closed = False

    def check_loop(self) -> None:
        """Raise `BadInputError` in another event loop than that of the first call: a wait would never end."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif loop is not self._loop:
            raise BadInputError(
                "this AsyncClient was used in another event loop: open one in each asyncio.run(), or use "
                "connect()"
            )

    def check_closing(self) -> None:
        """Raise `BadInputError` while another event loop may still use the connections."""
        if self._loop is not None and not self._loop.is_closed():
            self.check_loop()

    async def endpoint(self, stream: str, segment_id: int) -> Endpoint:
        """Return the endpoint that serves a segment; remembered until `forget`."""
        found = self._endpoints.get((stream, segment_id))
        if found is None:
            found = await self._controller.endpoint(stream, segment_id)
            self._endpoints[stream, segment_id] = found
        return found

    def known_endpoint(self, stream: str, segment_id: int) -> Endpoint | None:
        """Return what `endpoint` remembers, None if nothing."""
        return self._endpoints.get((stream, segment_id))

    def forget(self, stream: str, segment_id: int) -> None:
        """Ask the controller again next time, for a token too."""
        self._endpoints.pop((stream, segment_id), None)
        self.tokens.forget(stream)

    async def open(self, endpoint: Endpoint) -> Connection:
        """Open a connection for the caller alone, who closes it; closing the client closes it too."""
        if self._is_closed:
            raise PravegaError(f"{endpoint}: the client was closed; connect() makes a new one")
        connection = await self._connect(endpoint)
        self._own = [other for other in self._own if other.is_open]
        self._own.append(connection)
        return connection

    async def _connect(self, endpoint: Endpoint) -> Connection:
        try:
            connection = await open_connection(endpoint, self._dialer)
        except (TransientError, OSError) as error:
            if endpoint in self._reached:
                raise
            raise UnreachableError(self._unreachable(endpoint, error)) from error
        self._reached.add(endpoint)
        return connection

    def _unreachable(self, endpoint: Endpoint, error: Exception) -> str:
        reached = self._dialer.reach(endpoint)
        instead = "" if reached == endpoint else f" ({reached} by rewrite)"
        place = f"segment store {endpoint}, as the controller advertises it{instead}"
        if isinstance(error, ConnectionLostError) and not isinstance(error.__cause__, TimeoutError):
            return f"{place}, hung up without a hello. If it speaks TLS, write tls:// for the controller"
        if isinstance(error, (ConnectionResetError, ConnectionAbortedError)) and self._dialer.is_secure:
            return f"{place}, hung up in the TLS handshake. With tls:// all servers have to speak TLS"
        reason = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
        return (
            f"{place}, cannot be reached: {reason}. If it has another name from here, say so: "
            f"rewrite={{{endpoint.host!r}: 'reachable-host'}}, or --rewrite {endpoint.host}=reachable-host"
        )

    async def _signed(self, stream: str, request: Command) -> Command:
        """Return the request with a token if the cluster demands one."""
        if not self.tokens.wanted:
            return request
        token = await self.tokens.get(stream, write=is_write(request))
        return cast(Command, replace(cast(Any, request), token=token))

    async def ask(self, stream: str, segment_id: int, request: Command) -> Reply:
        """Ask the store that serves a segment, again if the connection is lost: for idempotent requests.

        Raises:
            SegmentNotFoundError: There is no such segment.
            RefusedError: The store says why.
            StoreUnavailableError: The budget is over.
        """
        what = f"{type(request).__name__} of {stream}, segment {segment_id}"
        return await retrying(
            what, self.retry_for_s, self.chance, lambda: self.ask_once(stream, segment_id, request)
        )

    async def ask_once(self, stream: str, segment_id: int, request: Command) -> Reply:
        """Ask in one attempt: raises ``TransientError`` or ``OSError`` when the reply did not come."""
        endpoint = await self.endpoint(stream, segment_id)
        try:
            connection = await self._shared.get(endpoint)
            return check_reply(await connection.ask(await self._signed(stream, request)))
        except (TransientError, OSError, AccessDeniedError):
            self.forget(stream, segment_id)
            raise

    async def change(self, what: str, stream: str, segment_id: int, request: Command) -> tuple[Reply, bool]:
        """Ask for a change until there is a reply, as `ask`. ``what`` describes it in errors.

        Return the reply, and whether an earlier attempt may have happened, because its answer was lost. An
        error that is raised after such an attempt has ``definite`` UNKNOWN.
        """
        return await changing(
            what, self.retry_for_s, self.chance, lambda: self.ask_once(stream, segment_id, request)
        )

    async def ask_all(self, stream: str, requests: Mapping[int, Command]) -> list[Reply]:
        """Ask each segment for one thing, and return the replies in the order of ``requests``; see `ask`."""
        self.check_loop()
        requests = {i: await self._signed(stream, request) for i, request in requests.items()}
        by_endpoint: dict[Endpoint | None, list[int]] = {}
        for segment_id in requests:
            by_endpoint.setdefault(self.known_endpoint(stream, segment_id), []).append(segment_id)
        replies: dict[int, Reply] = {}
        for endpoint, ids in by_endpoint.items():
            connection = None if endpoint is None else self._shared.get_open(endpoint)
            if connection is not None:
                with suppress(TransientError, OSError):
                    replies |= zip(ids, await connection.ask_all([requests[i] for i in ids]), strict=True)
        again = [i for i in requests if _good(replies.get(i)) is None]
        replies |= zip(again, await gather(*(self.ask(stream, i, requests[i]) for i in again)), strict=True)
        return [replies[i] for i in requests]

    async def close(self) -> None:
        """Close all connections at once, and open none any more."""
        self._is_closed = True
        await self._shared.close()
        for connection in self._own:
            connection.close()
        self._own = []


class Connections:
    """Keeps one connection per segment store, opened on demand, and again after it was lost."""

    def __init__(self, stores: SegmentStores) -> None:
        self._stores = stores
        self._opening: dict[Endpoint, asyncio.Task[Connection]] = {}

    def get_open(self, endpoint: Endpoint) -> Connection | None:
        """Return an open connection, None if there is none."""
        opening = self._opening.get(endpoint)
        return opening.result() if opening is not None and opening.done() and _is_usable(opening) else None

    async def get(self, endpoint: Endpoint) -> Connection:
        """Return an open connection.

        Raises:
            OSError, TransientError: The store cannot be reached.
            PravegaError: The connections were closed in the meantime.
            BadInputError: The client belongs to another event loop.
        """
        self._stores.check_loop()
        connection = self.get_open(endpoint)
        if connection is not None:
            return connection
        opening = self._opening.get(endpoint)
        if opening is None or opening.done():
            opening = asyncio.get_running_loop().create_task(self._stores.open(endpoint))
            self._opening[endpoint] = opening
        try:
            return await shield(opening)
        except asyncio.CancelledError:
            if opening.cancelled() and not is_being_cancelled():  # by `close`
                raise PravegaError(
                    f"{endpoint}: the client, reader or writer was closed while it connected"
                ) from None
            raise

    def flush_joined(self) -> None:
        """Send what was written by `Connection.write_joined`, because the caller now waits for replies."""
        for opening in self._opening.values():
            if opening.done() and _is_usable(opening):
                opening.result().flush_joined()

    async def close(self) -> None:
        """Close them all at once."""
        opening, self._opening = list(self._opening.values()), {}
        try:
            await cancel_all(*opening)
        finally:  # also when this call is cancelled
            for task in opening:
                if task.done() and _is_usable(task):
                    task.result().close()


class WriterConnections:
    """The connections of a client's writers and transactions.

    Up to ``WRITER_CONNECTIONS_MAX`` of them have one of their own to each segment store. More share these,
    and their small appends travel together.
    """

    def __init__(self, stores: SegmentStores) -> None:
        self._stores = stores
        self._in_use: list[SharedConnections] = []

    def take(self) -> SharedConnections:
        """Return connections that the caller gives back. Call it in the loop of the client."""
        if len(self._in_use) < WRITER_CONNECTIONS_MAX:
            taken = SharedConnections(self._stores)
            self._in_use.append(taken)
        else:
            taken = min(self._in_use, key=lambda connections: connections.n_users)
        taken.n_users += 1
        return taken

    async def give_back(self, taken: SharedConnections) -> None:
        """Close the connections at once if nobody else has taken them."""
        taken.n_users -= 1
        if not taken.n_users:
            self._in_use.remove(taken)
            await taken.close()


class SharedConnections(Connections):
    """Keeps one connection per segment store for one writer, or for several."""

    n_users = 0

    def flush_joined(self) -> None:
        """Send what was written, if there is one writer. What several write in a turn travels together."""
        if self.n_users == 1:
            super().flush_joined()


def _is_usable(opening: asyncio.Task[Connection]) -> bool:
    return not opening.cancelled() and opening.exception() is None and opening.result().is_open


async def changing(
    what: str, budget_s: float, chance: Random, attempt: Callable[[], Awaitable[T]]
) -> tuple[T, bool]:
    """Attempt a change until it gets an answer. `SegmentStores.change` states the contract."""
    retries = Retries(what, budget_s, chance)
    may_have_happened = False
    try:
        while True:
            try:
                return await attempt(), may_have_happened
            except (TransientError, OSError) as error:
                failure = error
            may_have_happened |= not isinstance(failure, NOT_DONE)
            await retries.pause(failure)
    except PravegaError as error:
        if may_have_happened:
            error.definite = Definite.UNKNOWN
        raise


def _good(reply: Reply | None) -> Reply | None:
    """Return the reply if it needs no second attempt, else None."""
    try:
        return None if reply is None else check_reply(reply)
    except (TransientError, PravegaError):
        return None


def check_reply(reply: Reply) -> Reply:
    """Return the reply, or raise it if it is an error that means the same for every request."""
    if isinstance(reply, WrongHost):
        raise MovedError(f"{reply.segment} is served by {reply.correct_host or 'another store'} now")
    if isinstance(reply, NoSuchSegment):
        raise SegmentNotFoundError(
            f"there is no segment {reply.segment}: never created, truncated or deleted"
        )
    if isinstance(reply, AuthTokenCheckFailed):
        raise refused(reply)
    if isinstance(reply, (ErrorMessage, OperationUnsupported)):
        fields: Any = reply
        words = getattr(fields, "message", "") or getattr(fields, "stack", "")
        if isinstance(reply, ErrorMessage) and reply.error_code == ErrorCode.STORE_FULL:
            raise FullError(words)
        raise RefusedError(f"the segment store answered {type(reply).__name__}: {words or 'no reason given'}")
    return reply
