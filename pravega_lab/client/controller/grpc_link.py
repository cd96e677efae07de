"""Call the controller over gRPC. Only this module of the client imports grpc, and only when it calls.

It uses the plain (threaded) channel, which is bound to no loop. A forked child may make its own channel after
the parent used one.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import Any

from pravega_lab.client.connection.access import Access
from pravega_lab.client.connection.dialer import Dialer, Endpoint, certificates, name_in
from pravega_lab.client.controller.link import ControllerCallError
from pravega_lab.errors import TlsError
from pravega_lab.protocol.controller.methods import METHODS

SILENT_S = 5.0
"""A connection on which a call is given up after this time, and which answered nothing since, is closed. The
network may have dropped it without a word, and TCP needs some 15 minutes to notice.
"""
_BYTES_MAX = 64 * 1024 * 1024
_OPTIONS = (
    ("grpc.max_receive_message_length", _BYTES_MAX),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 5000),  # despite its name the time limit of one attempt, TLS included
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
)


class GrpcLink:
    """Links to a controller as `ControllerLink` describes. It connects on the first call."""

    def __init__(self, endpoint: Endpoint, dialer: Dialer | None = None) -> None:
        self._endpoint = endpoint
        self._dialer = dialer or Dialer(Access(), is_secure=False)
        self._channel: Any = None
        self._heard_s: float | None = None  # when the controller answered last

    async def _open(self) -> Any:
        if self._channel is None:
            name = await self._name() if self._dialer.is_secure else ""
            if self._channel is None:  # no other task was faster
                self._channel = self._new_channel(name)
        return self._channel

    def _new_channel(self, name: str) -> Any:
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")
        # A child that closes its files before it runs a program, as pyspark's does to start the JVM, would be
        # aborted by gRPC's thread in it: epoll_wait fails on a closed file. poll does not.
        os.environ.setdefault("GRPC_POLL_STRATEGY", "poll")
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        import grpc

        where = str(self._dialer.reach(self._endpoint))
        if not self._dialer.is_secure:
            return grpc.insecure_channel(where, options=_OPTIONS)
        ca_file = self._dialer.access.ca_file or ssl.get_default_verify_paths().cafile
        roots = grpc.ssl_channel_credentials(certificates(ca_file) if ca_file else None)
        return grpc.secure_channel(where, roots, (*_OPTIONS, ("grpc.ssl_target_name_override", name)))

    async def _name(self) -> str:
        """Return the host that the certificate has to name.

        gRPC always checks a name. If any host is accepted, this is a name that the certificate has.
        """
        try:
            name, certificate = await self._dialer.probe(self._endpoint)
        except (OSError, TimeoutError) as error:
            raise ControllerCallError("UNAVAILABLE", f"no TLS handshake: {error or 'no answer'}") from error
        return name if self._dialer.access.validate_host_name else name_in(certificate) or name

    async def call(self, method: str, request: bytes) -> bytes:
        """See `ControllerLink.call`. Raises `TlsError` too."""
        channel = await self._open()
        rpc = channel.unary_unary(METHODS[method].path)
        loop = asyncio.get_running_loop()
        answered = asyncio.Event()
        authorization = self._dialer.access.authorization()
        call = rpc.future(request, metadata=[("authorization", authorization)] if authorization else None)
        call.add_done_callback(lambda _: _wake(loop, answered))
        began_s = loop.time()
        try:
            await answered.wait()
        except asyncio.CancelledError:
            is_silent = self._heard_s is None or self._heard_s < began_s
            if channel is self._channel and is_silent and loop.time() - began_s >= SILENT_S:
                await self.close()
            raise
        finally:
            call.cancel()
        try:
            found = _result(call)
        except ControllerCallError as error:
            await self._explain(error)
            raise
        self._heard_s = loop.time()
        return found

    async def _explain(self, error: ControllerCallError) -> None:
        """Raise `TlsError` if a controller that never answered speaks TLS, and this client does not."""
        if error.code_name != "UNAVAILABLE":
            self._heard_s = asyncio.get_running_loop().time()
        elif (
            self._heard_s is None and not self._dialer.is_secure and await self._dialer.is_tls(self._endpoint)
        ):
            raise TlsError(
                f"{self._endpoint} speaks TLS. Write tls://{self._endpoint}, and give ca_file= or --ca-file "
                "with the certificate of the authority that signed its own"
            ) from error

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
