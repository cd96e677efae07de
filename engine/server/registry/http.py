"""HTTP/1.1 for a small REST server: requests with limits in, answers out, several on one connection."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl

from ...registry.requests import Answer

HEAD_BYTES_MAX = 16 << 10
BODY_BYTES_MAX = 1 << 20
_NO_BODY = (204, 304)
_HEXADECIMAL = re.compile(rb"[0-9A-Fa-f]{1,16}")


class BadRequestError(Exception):
    """Raised for bytes that are no request, or one that is too large. The connection is closed after it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request. Names of ``headers`` are in lower case, and ``query`` is decoded."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    is_last: bool


async def read_head(reader: asyncio.StreamReader) -> bytes | None:
    """Return the head of the next request, None where the client has ended. Raises `BadRequestError`."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise BadRequestError(400, "the request ends in its head") from None
        return None
    except asyncio.LimitOverrunError:
        raise BadRequestError(431, f"the head has more than {HEAD_BYTES_MAX} bytes") from None


async def read_request(
    head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> HttpRequest:
    """Return the request with a head, whose body is read here. Raises `BadRequestError`."""
    first, *lines = head.decode("latin-1").strip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[1].startswith("/"):
        raise BadRequestError(400, "this is no HTTP/1.1 request")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise BadRequestError(400, "a line of the head is no header")
        headers[name.lower()] = value.strip()
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        body = await _body(headers, reader)
    except asyncio.IncompleteReadError:
        raise BadRequestError(400, "the request ends in its body") from None
    except asyncio.LimitOverrunError:
        raise BadRequestError(400, "a line between the chunks of the body is too long") from None
    path, _, query = words[1].partition("?")
    asked = headers.get("connection", "").lower()
    is_last = asked == "close" or (words[2] == "HTTP/1.0" and asked != "keep-alive")
    return HttpRequest(words[0], path, dict(parse_qsl(query)), headers, body, is_last)


async def _body(headers: Mapping[str, str], reader: asyncio.StreamReader) -> bytes:
    coding = headers.get("transfer-encoding", "").lower()
    if coding == "chunked" and "content-length" not in headers:
        return await _chunks(reader)
    if coding:
        raise BadRequestError(400, "the body is neither of a stated length nor chunked")
    text = headers.get("content-length", "0")
    if not text.isascii() or not text.isdecimal():
        raise BadRequestError(400, f"the length {text!r} of the body is no number")
    return await reader.readexactly(_within_limit(int(text[:20])))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    length = 0
    while True:
        line = await reader.readuntil(b"\r\n")
        digits = line.partition(b";")[0].strip()
        if not _HEXADECIMAL.fullmatch(digits):
            raise BadRequestError(400, "a chunk of the body has no length")
        size = int(digits, 16)
        length = _within_limit(length + size)
        if not size:
            break
        parts.append(await reader.readexactly(size))
        if await reader.readexactly(2) != b"\r\n":
            raise BadRequestError(400, "a chunk of the body is not as long as it says")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return b"".join(parts)


def _within_limit(length: int) -> int:
    if length > BODY_BYTES_MAX:
        raise BadRequestError(413, f"the body has {length} bytes; {BODY_BYTES_MAX} are taken")
    return length


def encoded(answer: Answer, *, is_last: bool, without_body: bool = False) -> bytes:
    """Return the bytes of an answer. ``is_last`` announces that the connection ends with it."""
    reason = HTTPStatus(answer.status).phrase
    lines = [f"HTTP/1.1 {answer.status} {reason}"]
    if answer.content_type:
        lines.append(f"Content-Type: {answer.content_type}")
    if answer.allow:
        lines.append(f"Allow: {answer.allow}")
    if answer.status == 401:
        lines.append('WWW-Authenticate: Basic realm="pravega"')
    if answer.status not in _NO_BODY:
        lines.append(f"Content-Length: {len(answer.body)}")
    if is_last:
        lines.append("Connection: close")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
    return head if without_body or answer.status in _NO_BODY else head + answer.body
