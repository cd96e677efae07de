"""The REST port of the registry: who calls, what is kept, and when an answer may be sent.

The records of a decision are submitted to the log before it is applied, and its answer is sent when
everything submitted before it is on disk. No client therefore learns what a crash can remove.
"""

from __future__ import annotations

import asyncio
import ssl

from ...registry.records import PREFIX
from ...registry.registry import MAY, Registry, may_all
from ...registry.requests import Answer, Request, text_answer
from ...store.errors import StorageError, StoreFull
from ...store.log.operations import PutRecord
from ...store.metadata.replies import RpcError
from ...store.security.passwords import User
from ...store.security.permissions import Permission, permission_on
from ...store.storage.storage import Ticket
from ..limits.closing import close_within
from ..runner import StoreRunner
from ..security.authentication import Authenticator
from .http import HEAD_BYTES_MAX, BadRequestError, HttpRequest, encoded, read_head, read_request

CONNECTIONS_MAX = 64
IDLE_S = 60.0
"""A connection without a request for so long is closed."""
REQUEST_S = 15.0
"""Time for a request to arrive, and for its answer to be taken."""


class RegistryPort:
    """Serves the registry of a store.

    Args:
        runner: The store, whose log keeps the registry.
        authenticator: Finds the users of calls. None: everybody may do everything.
    """

    def __init__(self, runner: StoreRunner, authenticator: Authenticator | None) -> None:
        self._runner = runner
        self._authenticator = authenticator
        self._registry = Registry(runner.storage.records(PREFIX))
        self._connections: set[asyncio.StreamWriter] = set()
        self._busy: set[asyncio.StreamWriter] = set()  # those whose request is not answered yet
        self._is_ending = False

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> asyncio.Server:
        """Begin to serve, and return the server. Raises OSError if it cannot listen there."""
        return await asyncio.start_server(self._serve, host, port, limit=HEAD_BYTES_MAX, ssl=tls)

    def end(self) -> None:
        """Take no more requests. Those that were received are answered."""
        self._is_ending = True
        for writer in self._connections - self._busy:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= CONNECTIONS_MAX:
            writer.write(encoded(text_answer(503, "too many connections; close some"), is_last=True))
            return writer.close()
        self._connections.add(writer)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (TimeoutError, OSError, ValueError):
            pass  # the client is gone, or sends nothing
        finally:
            await close_within(writer, REQUEST_S)
            self._connections.discard(writer)
        return None

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve the next request. Return False if it was the last of its connection."""
        try:
            async with asyncio.timeout(IDLE_S):
                head = await read_head(reader)
            if head is None:
                return False
            async with asyncio.timeout(REQUEST_S):
                request = await read_request(head, reader, writer)
        except BadRequestError as error:
            writer.write(encoded(text_answer(error.status, error.text), is_last=True))
            await writer.drain()
            return False
        self._busy.add(writer)
        try:
            answer = await self.answer(request, writer.get_extra_info("peername")[0])
            is_last = request.is_last or self._is_ending
            writer.write(encoded(answer, is_last=is_last, without_body=request.method == "HEAD"))
            async with asyncio.timeout(REQUEST_S):
                await writer.drain()
        finally:
            self._busy.discard(writer)
        return not is_last

    async def answer(self, request: HttpRequest, address: str = "") -> Answer:
        """Return the answer to a request from ``address`` as soon as it may be sent."""
        try:
            user = await self._user_of(request, address)
        except RpcError as error:
            return text_answer(401 if error.code_name == "UNAUTHENTICATED" else 503, error.details)
        if self._authenticator is not None and user is None and request.path != "/ping":
            return text_answer(401, "this registry wants a user and a password")
        try:
            answer, ticket = self._decided(request, may_all if user is None else _may_of(user))
        except StoreFull as error:
            answer, ticket = text_answer(507, str(error)), self._runner.storage.barrier()
        except StorageError as error:
            answer, ticket = text_answer(503, str(error)), self._runner.storage.barrier()
        synced: asyncio.Future[Ticket] = asyncio.get_running_loop().create_future()
        ticket.add_done(lambda done: None if synced.done() else synced.set_result(done))
        if (await synced).failure is not None:
            return text_answer(503, "the store stopped before this was on disk; look it up after a restart")
        return answer

    async def _user_of(self, request: HttpRequest, address: str) -> User | None:
        if self._authenticator is None:
            return None
        return await self._authenticator.user_of(request.headers.get("authorization"), address)

    def _decided(self, request: HttpRequest, may: MAY) -> tuple[Answer, Ticket]:
        storage, now_ms = self._runner.storage, self._runner.now_ms()
        asked = Request(
            *("GET" if request.method == "HEAD" else request.method, request.path, request.query),
            *(request.body, request.headers.get("content-type", ""), request.headers.get("accept", "")),
        )
        answer, records = self._registry.decide(asked, now_ms, may)
        if not records:
            return answer, storage.barrier()
        grows = sum(-1 if record.value is None else 1 for record in records) > 0
        if storage.is_full and grows:
            raise StoreFull("The disk of the store is full, and this would make it grow. Make room on it.")
        ticket = storage.submit([PutRecord(*record) for record in records], now_ms=now_ms)
        self._registry.apply(records)
        return answer, ticket


def _may_of(user: User) -> MAY:
    def may(resource: str, is_change: bool) -> bool:
        wanted = Permission.READ_UPDATE if is_change else Permission.READ
        return permission_on(user.acl, resource) >= wanted

    return may
