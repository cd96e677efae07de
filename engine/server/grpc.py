"""The controller behind gRPC: ``grpc.aio`` carries encoded requests and responses, without generated stubs.

Nothing is decided here. No other module of the engine imports grpc.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.controller.methods import METHODS, SERVICE

from ..store.metadata.replies import Answer, Outcome, RpcError
from .runner import StoreRunner

OPTIONS = [
    # By default Linux lets two servers share one port, and each receives half of the calls.
    ("grpc.so_reuseport", 0),
    # By default grpc closes connections that ping often or without calls, as keep-alive does.
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
    ("grpc.keepalive_permit_without_calls", 1),
]

Behaviour = Callable[[bytes, grpc.aio.ServicerContext[bytes, bytes]], Awaitable[bytes]]


class ControllerHandlers(grpc.GenericRpcHandler):  # type: ignore[misc]
    """The methods of the controller's service. grpc itself answers any other method with UNIMPLEMENTED."""

    def __init__(self, runner: StoreRunner) -> None:
        prefix = f"/{SERVICE}/"
        self._handlers = {
            prefix + name: grpc.unary_unary_rpc_method_handler(_behaviour(runner, name)) for name in METHODS
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return the handler of a call, None if the service has no such method."""
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
    """Listen on ``host:port`` and return the server with its port. ``port`` 0 takes a free one.

    Raises:
        BadInputError: The port is in use, or ``host`` is no address of this machine.
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
