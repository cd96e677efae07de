"""Fetch one event by its pointer; see `sync.Stream.fetch`."""

from __future__ import annotations

from pravega_lab.client.connection.receiver import ReadReply
from pravega_lab.client.context import NO_TOKEN, StreamContext
from pravega_lab.client.framing.values import HEADER, HEADER_BYTES
from pravega_lab.client.values import MIB
from pravega_lab.errors import BadInputError, RefusedError, TruncatedDataError
from pravega_lab.protocol.metadata.event_pointer import EventPointer
from pravega_lab.protocol.wire.commands import ReadSegment, SegmentIsTruncated

READ_BYTES_MAX = 2 * MIB


async def fetch(context: StreamContext, pointer: EventPointer) -> bytes:
    """Return the event to which ``pointer`` points."""
    if not isinstance(pointer, EventPointer):
        raise BadInputError(f"fetch({pointer!r}): pass an EventPointer; from_text() reads one from text")
    if pointer.stream != context.name:
        raise BadInputError(f"{pointer.to_text()} points into {pointer.stream}, not into {context.name}")
    info = await context.info(pointer.segment_id)
    end = pointer.offset + pointer.length
    if pointer.offset < 0 or pointer.length < HEADER_BYTES or end > info.write_offset:
        raise BadInputError(
            f"{pointer.to_text()} points to no event: the segment ends at {info.write_offset}"
        )
    data = bytearray()
    while len(data) < pointer.length:
        offset = pointer.offset + len(data)
        size = min(READ_BYTES_MAX, pointer.length - len(data))
        request = ReadSegment(context.segment_name(pointer.segment_id), offset, size, NO_TOKEN, 0)
        reply = await context.stores.ask(context.name, pointer.segment_id, request)
        if isinstance(reply, SegmentIsTruncated):
            raise TruncatedDataError(
                f"{pointer.to_text()}: the event was truncated; the segment begins at {reply.start_offset}",
                reply.start_offset,
            )
        if not isinstance(reply, ReadReply) or not reply.data:
            raise RefusedError(f"{pointer.to_text()}: {type(reply).__name__} is no answer to a read")
        data += reply.data[:size]
    kind, length = HEADER.unpack_from(data)
    if kind != 0 or length != pointer.length - HEADER_BYTES:
        raise BadInputError(f"{pointer.to_text()} points to no event: none of that length begins there")
    return bytes(data[HEADER_BYTES:])
