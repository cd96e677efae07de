"""The controller behind gRPC: ``grpc.aio`` carries encoded requests and responses, without generated stubs.

Nothing is decided here but the order of calls. No other module of the engine imports grpc.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.controller.methods import METHODS, SERVICE

from ..store.metadata.replies import Answer, Outcome, RpcError
from ..store.security.passwords import User
from .limits.limits import Limits
from .runner import StoreRunner
from .security.authentication import Authenticator
from .security.options import Security

OPTIONS = [
    # By default Linux lets two servers share one port, and each receives half of the calls.
    ("grpc.so_reuseport", 0),
    # By default grpc closes connections that ping often or without calls, as keep-alive does.
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
    ("grpc.keepalive_permit_without_calls", 1),
]

PAUSE_AFTER_S = 0.002
"""After calls that took less, the next call follows in the next pass of the loop."""

PAUSE_FACTOR = 3
"""How much longer the pause after a call is than the call. What a call decides is work for the log, too."""

IDLE_MS = 30_000
"""A connection without a call for this long is closed, so that idle ones keep no client out. Clients open
another one for their next call by themselves.
"""

MESSAGE_BYTES_MAX = 1 << 20
"""A request with the cuts of 10,000 segments has a fifth of that."""

Behaviour = Callable[[bytes, grpc.aio.ServicerContext[bytes, bytes]], Awaitable[bytes]]


def limiting_options(limits: Limits) -> list[tuple[str, int]]:
    """Return the options by which grpc refuses connections, slow greetings, idleness and large requests."""
    return [
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.server_handshake_timeout_ms", limits.frame_s * 1000),
        ("grpc.http2.settings_timeout", limits.frame_s * 1000),
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_connection_idle_ms", IDLE_MS),
    ]


class CallTurns:
    """Lets one call of the controller be decided per pass of the loop.

    A call that takes long, for a stream of many segments for example, is followed by a pause of three times
    its length. The log and the wire commands of all clients therefore have most of the time.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False

    async def __aenter__(self) -> None:
        if self._is_taken:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # the call ended after its turn had come, and leaves it to the next
                    self._next()
                raise
        self._is_taken = True
        self._began_s = asyncio.get_running_loop().time()

    async def __aexit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        took_s = loop.time() - self._began_s
        if took_s < PAUSE_AFTER_S:
            loop.call_soon(self._next)
        else:
            loop.call_later(PAUSE_FACTOR * took_s, self._next)

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                return turn.set_result(None)
        self._is_taken = False
        return None


class ControllerHandlers(grpc.GenericRpcHandler):  # type: ignore[misc]
    """The methods of the controller's service. grpc itself answers any other method with UNIMPLEMENTED."""

    def __init__(self, runner: StoreRunner, authenticator: Authenticator | None) -> None:
        prefix = f"/{SERVICE}/"
        turns = CallTurns()
        self._handlers = {
            prefix + name: grpc.unary_unary_rpc_method_handler(_behaviour(runner, turns, authenticator, name))
            for name in METHODS
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return the handler of a call, None if the service has no such method."""
        return self._handlers.get(handler_call_details.method)


def _behaviour(
    runner: StoreRunner, turns: CallTurns, authenticator: Authenticator | None, name: str
) -> Behaviour:
    async def behave(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        outcome = await _outcome(runner, turns, authenticator, name, request, context)
        if isinstance(outcome, RpcError):
            await context.abort(grpc.StatusCode[outcome.code_name], outcome.details)
        assert isinstance(outcome, Answer)
        return outcome.payload

    return behave


async def _outcome(
    runner: StoreRunner,
    turns: CallTurns,
    authenticator: Authenticator | None,
    name: str,
    request: bytes,
    context: grpc.aio.ServicerContext[bytes, bytes],
) -> Outcome:
    try:
        user = None if authenticator is None else await _user(authenticator, context)
        async with turns:
            answer = runner.call(name, request, user)
    except RpcError as error:
        return error
    if isinstance(answer, Answer):
        return answer
    settled: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    answer.add_done(lambda outcome: None if settled.done() else settled.set_result(outcome))
    return await settled


async def _user(authenticator: Authenticator, context: grpc.aio.ServicerContext[bytes, bytes]) -> User | None:
    return await authenticator.user_of(_authorization(context), context.peer().rpartition(":")[0])


def _authorization(context: grpc.aio.ServicerContext[bytes, bytes]) -> str | None:
    found = (value for key, value in context.invocation_metadata() or () if key == "authorization")
    value = next(found, None)
    return value if isinstance(value, str) else None


async def serve(
    runner: StoreRunner, host: str, port: int, security: Security | None = None
) -> tuple[grpc.aio.Server, int]:
    """Listen on ``host:port`` and return the server with its port. ``port`` 0 takes a free one.

    Raises:
        BadInputError: The port is in use, or ``host`` is no address of this machine.
    """
    authenticator = None if security is None else security.authenticator
    server = grpc.aio.server(
        handlers=[ControllerHandlers(runner, authenticator)],
        options=[*OPTIONS, *limiting_options(runner.limits)],
        maximum_concurrent_rpcs=runner.limits.calls,
    )
    certificate = None if security is None else security.certificate
    try:
        if certificate is None:
            bound = server.add_insecure_port(f"{host}:{port}")
        else:
            pair = grpc.ssl_server_credentials([(certificate.key, certificate.chain)])
            bound = server.add_secure_port(f"{host}:{port}", pair)
    except RuntimeError as error:
        bound, why = 0, error
    else:
        why = RuntimeError("no reason given")
    if not bound:
        raise BadInputError(
            f"The controller cannot listen on {host}:{port} ({why}). Is another store running there?"
            " Give another --controller-port, or 0 for a free one."
        )
    await server.start()
    return server, bound
