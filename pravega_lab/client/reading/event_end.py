"""Find the end of an event by reading from a position that is known to lie between two events.

Programs that cut a segment at a size need it: a released server cannot be asked for event boundaries
(pravega.md D4). It reads no byte twice and none after the event, so it costs one pass over bytes that the
caller reads anyway.
"""

from __future__ import annotations

from pravega_lab.client.connection.receiver import ReadReply
from pravega_lab.client.context import NO_TOKEN, StreamContext
from pravega_lab.client.framing.decode import EventDecoder
from pravega_lab.client.framing.values import HEADER, HEADER_BYTES
from pravega_lab.client.reading.segment_input import READ_BYTES
from pravega_lab.errors import BadInputError, RefusedError, TruncatedDataError
from pravega_lab.protocol.names import short_name
from pravega_lab.protocol.wire.commands import ReadSegment, SegmentIsTruncated


async def event_end(context: StreamContext, segment_id: int, begin: int, at_least: int) -> int:
    """Return where the event ends that reaches ``at_least``, in bytes; see `sync.Stream.event_end`."""
    length = (await context.info(segment_id)).write_offset
    if not 0 <= begin <= at_least <= length:
        raise BadInputError(
            f"{context.name}, segment {short_name(segment_id)}: from {begin} to {at_least} is not within its "
            f"{length} bytes"
        )
    decoder = EventDecoder(segment_id, begin)
    at = begin
    while at < at_least:
        block = await _read(context, segment_id, at, min(READ_BYTES, at_least - at))
        decoder.decode(block)
        at += len(block)
    if decoder.position == at_least:
        return at_least
    header = b""
    while len(header) < HEADER_BYTES:
        header += await _read(context, segment_id, decoder.position + len(header), HEADER_BYTES - len(header))
    return decoder.position + HEADER_BYTES + int(HEADER.unpack(header)[1])


async def _read(context: StreamContext, segment_id: int, offset: int, length: int) -> memoryview:
    """Return at least one byte from ``offset``. The caller asks only for bytes that exist."""
    request = ReadSegment(context.segment_name(segment_id), offset, length, NO_TOKEN, 0)
    reply = await context.stores.ask(context.name, segment_id, request)
    if isinstance(reply, SegmentIsTruncated):
        raise TruncatedDataError(
            f"{request.segment}: bytes before {reply.start_offset} were truncated, {offset} was asked for"
        )
    if not isinstance(reply, ReadReply) or not reply.data:
        raise RefusedError(
            f"{request.segment}, offset {offset}: {type(reply).__name__} is no answer to a read"
        )
    return reply.data[:length]
