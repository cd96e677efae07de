"""The HTTP of the admin port: GET of two paths, one request per connection, with limits.

The samples are collected on the loop of the store, which takes microseconds per segment. They become text in
a thread.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from pravega_lab.errors import MissingExtraError

from ..limits.closing import close_within
from .exposition import render
from .health import Health
from .samples import Metric

REQUEST_BYTES_MAX = 8192
REQUEST_S_MAX = 5.0
CONNECTIONS_MAX = 16

_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}
_REASONS |= {501: "Not Implemented", 503: "Service Unavailable"}
Response = tuple[int, str, bytes]
"""Status, content type and body."""


class AdminPort:
    """Serves ``/metrics`` and ``/health``.

    Args:
        metrics: Return the present metrics.
        health: Return the present health.
    """

    def __init__(self, metrics: Callable[[], list[Metric]], health: Callable[[], Health]) -> None:
        self._metrics = metrics
        self._health = health
        self._connections = 0
        self._paths: dict[str, Callable[[], Awaitable[Response]]] = {
            "/metrics": self._get_metrics,
            "/health": self._get_health,
        }

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """Begin to serve, and return the server. Raises OSError if it cannot listen there."""
        return await asyncio.start_server(self._serve, host, port, limit=REQUEST_BYTES_MAX)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= CONNECTIONS_MAX:
                async with asyncio.timeout(REQUEST_S_MAX):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_encoded(await self._respond(head)))
                    await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a client that sends no request gets no answer
        finally:
            await close_within(writer, REQUEST_S_MAX)
            self._connections -= 1

    async def _respond(self, head: bytes) -> Response:
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _text(400, "This is no HTTP request.")
        if words[0] not in ("GET", "HEAD"):
            return _text(405, f"{words[0]} is not allowed here: use GET.")
        found = self._paths.get(words[1].partition("?")[0])
        if found is None:
            return _text(404, "There are /metrics and /health.")
        status, kind, body = await found()
        return status, kind, body if words[0] == "GET" else b""

    async def _get_metrics(self) -> Response:
        metrics = self._metrics()
        try:
            kind, body = await asyncio.to_thread(render, metrics)
        except MissingExtraError as error:
            return _text(501, str(error))
        return 200, kind, body

    async def _get_health(self) -> Response:
        health = self._health()
        body = json.dumps({"status": health.status, "reasons": health.reasons}) + "\n"
        return health.http_status, "application/json", body.encode()


def _text(status: int, text: str) -> Response:
    return status, "text/plain; charset=utf-8", f"{text}\n".encode()


def _encoded(response: Response) -> bytes:
    status, kind, body = response
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
