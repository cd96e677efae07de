"""The controller over gRPC. The only module of the client that imports grpc, and only when it calls.

The plain (threaded) channel is used: it may be made in a forked child after the parent used its own, and
it is bound to no loop.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from pravega_lab.client.link import ControllerCallError
from pravega_lab.protocol.controller_methods import METHODS

_BYTES_MAX = 64 * 1024 * 1024


class GrpcLink:
    """A `ControllerLink` to ``host:port``; connects on the first call."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._channel: Any = None

    def _open(self) -> Any:
        if self._channel is None:
            os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")
            os.environ.setdefault("GRPC_VERBOSITY", "NONE")
            import grpc

            options = [
                ("grpc.max_receive_message_length", _BYTES_MAX),
                ("grpc.initial_reconnect_backoff_ms", 100),
                ("grpc.min_reconnect_backoff_ms", 100),
                ("grpc.max_reconnect_backoff_ms", 1000),
                ("grpc.enable_http_proxy", 0),
                ("grpc.use_local_subchannel_pool", 1),
            ]
            self._channel = grpc.insecure_channel(self._address, options=options)
        return self._channel

    async def call(self, method: str, request: bytes) -> bytes:
        """See `ControllerLink.call`."""
        rpc = self._open().unary_unary(METHODS[method].path)
        loop = asyncio.get_running_loop()
        answered = asyncio.Event()
        call = rpc.future(request)
        call.add_done_callback(lambda _: _wake(loop, answered))
        try:
            await answered.wait()
        finally:
            call.cancel()
        return _result(call)

    async def close(self) -> None:
        """See `ControllerLink.close`."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()


def _wake(loop: asyncio.AbstractEventLoop, answered: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(answered.set)


def _result(call: Any) -> bytes:
    import grpc

    try:
        found: bytes = call.result()
    except grpc.RpcError as error:
        raise ControllerCallError(call.code().name, str(call.details())) from error
    except grpc.FutureCancelledError as error:
        raise ControllerCallError("CANCELLED", "the channel was closed") from error
    return found
