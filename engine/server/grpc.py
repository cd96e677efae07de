"""The controller behind gRPC: bytes in, bytes out, by ``grpc.aio`` without generated stubs.

Nothing is decided here. The only module of the engine that imports grpc.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from pravega_lab.engine.server.runner import StoreRunner
from pravega_lab.engine.store.answers import Answer, Outcome, RpcError
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.controller_methods import METHODS, SERVICE

OPTIONS = [
    # Without this Linux lets two servers share one port, and each gets half of the calls.
    ("grpc.so_reuseport", 0),
    # Clients with keep-alive must not be sent away for it: Java pings every few minutes, Rust never.
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
    ("grpc.keepalive_permit_without_calls", 1),
]

Behaviour = Callable[[bytes, grpc.aio.ServicerContext[bytes, bytes]], Awaitable[bytes]]


class ControllerHandlers(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Every method of the controller's service; others are answered UNIMPLEMENTED by grpc itself."""

    def __init__(self, runner: StoreRunner) -> None:
        prefix = f"/{SERVICE}/"
        self._handlers = {
            prefix + name: grpc.unary_unary_rpc_method_handler(_behaviour(runner, name)) for name in METHODS
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """The handler of a call, None if there is no such method."""
        return self._handlers.get(handler_call_details.method)


def _behaviour(runner: StoreRunner, name: str) -> Behaviour:
    async def behave(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        outcome = await _outcome(runner, name, request)
        if isinstance(outcome, RpcError):
            await context.abort(grpc.StatusCode[outcome.code_name], outcome.details)
        assert isinstance(outcome, Answer)
        return outcome.payload

    return behave


async def _outcome(runner: StoreRunner, name: str, request: bytes) -> Outcome:
    try:
        answer = runner.call(name, request)
    except RpcError as error:
        return error
    if isinstance(answer, Answer):
        return answer
    settled: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    answer.add_done(lambda outcome: None if settled.done() else settled.set_result(outcome))
    return await settled


async def serve(runner: StoreRunner, host: str, port: int) -> tuple[grpc.aio.Server, int]:
    """Listen; the server and its port (``port`` 0 takes a free one).

    Raises:
        BadInputError: The port is in use, or the host is not this machine's.
    """
    server = grpc.aio.server(handlers=[ControllerHandlers(runner)], options=OPTIONS)
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
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
