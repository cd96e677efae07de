"""One REST call: a connection, a request, an answer, all within a time limit."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple, cast
from urllib.parse import SplitResult, urlsplit

from pravega_lab.client.connection.access import Access
from pravega_lab.client.connection.dialer import Dialer, Endpoint
from pravega_lab.client.connection.own_stores import with_own_credentials
from pravega_lab.errors import BadInputError, Definite, RegistryUnavailableError, TlsError

ANSWER_BYTES_MAX = 64 << 20
HEAD_BYTES_MAX = 64 << 10
DEFAULT_PORT = 9092


class RestAnswer(NamedTuple):
    """Holds a status and a body."""

    status: int
    body: bytes

    @property
    def text(self) -> str:
        """Return the body as a text for messages."""
        return self.body.decode("utf-8", "replace")[:1000]


def split_address(uri: str) -> tuple[SplitResult, Endpoint]:
    """Return the parts of a registry's address, and its endpoint. Raises `BadInputError`."""
    parts = urlsplit(uri)
    try:
        port = parts.port or DEFAULT_PORT
    except ValueError:
        port = 0
    host = parts.hostname
    if parts.scheme not in ("http", "https") or not host or " " in host or not port or parts.path.strip("/"):
        raise BadInputError(f"{uri!r} is no address of a schema registry: write http://host:port")
    return parts, Endpoint(host, port)


class RestLink:
    """Makes the calls of one client, each on a connection of its own.

    Args:
        uri: ``http://host:port`` or ``https://host:port``.
        timeout_s: The limit of a call, from the connection to the last byte of the answer.

    Raises:
        BadInputError: The address is malformed, or credentials would cross the network in clear.
    """

    def __init__(self, uri: str, access: Access, timeout_s: float) -> None:
        parts, self._endpoint = split_address(uri)
        self.uri = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        access = with_own_credentials(access, *self._endpoint)
        self._dialer = Dialer(access, parts.scheme == "https")
        self._dialer.check_secrets(self._endpoint)
        self._timeout_s = timeout_s

    async def call(self, method: str, target: str, body: Any = None) -> RestAnswer:
        """Make a call and return the answer, whatever its status.

        Args:
            target: Path and query, encoded.
            body: A JSON value, or None for no body.

        Raises:
            RegistryUnavailableError: There was no answer within the time limit. A call that changes something
                may have taken effect, unless there was no connection.
            TlsError: The registry can be reached, but not safely, or not without TLS.
            BadInputError: The credentials cannot be read any more.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._call(method, target, body)
        except (TlsError, BadInputError):
            raise
        except TimeoutError:
            raise self._unavailable(f"no answer within {self._timeout_s:g} s") from None
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            if not self._dialer.is_secure and await self._dialer.is_tls(self._endpoint):
                raise TlsError(
                    f"{self._endpoint} speaks TLS. Write https://{self._endpoint}, and give ca_file= with the"
                    " certificate of the authority that signed its own"
                ) from error
            raise self._unavailable(_in_words(error)) from error

    def _unavailable(
        self, why: str, definite: Definite = RegistryUnavailableError.definite
    ) -> RegistryUnavailableError:
        error = RegistryUnavailableError(
            f"the schema registry at {self.uri} does not answer: {why}. Is it running there? The embedded one"
            " is 'pravega-lab standalone --registry-port N'"
        )
        error.definite = definite
        return error

    async def _call(self, method: str, target: str, body: Any) -> RestAnswer:
        protocol = _Protocol()
        try:
            await self._dialer.connect(lambda: protocol, self._endpoint)
        except OSError as error:
            raise self._unavailable(_in_words(error), Definite.NO) from error  # nothing was sent
        try:
            protocol.transport.write(self._request(method, target, body))
            return await _read_answer(protocol.reader, method)
        finally:
            protocol.transport.abort()

    def _request(self, method: str, target: str, body: Any) -> bytes:
        encoded = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._endpoint}", "Accept: application/json"]
        lines.append("Connection: close")
        authorization = self._dialer.access.authorization()
        if authorization is not None:
            lines.append(f"Authorization: {authorization}")
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(encoded)}"]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + encoded


def _in_words(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "it hung up before the end of an HTTP answer"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class _Protocol(asyncio.StreamReaderProtocol):
    """Passes what is received to ``reader``, and keeps its transport."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader(limit=HEAD_BYTES_MAX)
        super().__init__(self.reader)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        super().connection_made(transport)


async def _read_answer(reader: asyncio.StreamReader, method: str) -> RestAnswer:
    status, headers = await _read_head(reader)
    while status == 100:
        status, headers = await _read_head(reader)
    if method == "HEAD" or status in (204, 304):
        return RestAnswer(status, b"")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return RestAnswer(status, await _read_chunks(reader))
    if "content-length" in headers:
        return RestAnswer(status, await reader.readexactly(_within_limit(int(headers["content-length"]))))
    body = await reader.read(ANSWER_BYTES_MAX + 1)
    _within_limit(len(body))
    return RestAnswer(status, body)


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdecimal():
        raise ValueError("what it sends is no HTTP")
    pairs = (line.partition(":") for line in lines)
    return int(words[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    length = 0
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        length = _within_limit(length + size)
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    return b"".join(parts)


def _within_limit(length: int) -> int:
    if not 0 <= length <= ANSWER_BYTES_MAX:
        raise ValueError(f"an answer of {length} bytes; at most {ANSWER_BYTES_MAX} are read")
    return length
