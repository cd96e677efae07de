"""Find the one segment of a byte stream."""

from __future__ import annotations

from pravega_lab.client.context import StreamContext
from pravega_lab.client.reading import cuts
from pravega_lab.errors import BadInputError, StreamSealedError


async def readable_segment(context: StreamContext) -> int:
    """Return the id of the stream's one segment. Raises `BadInputError` if it has, or had, several."""
    active = await context.controller.current_segments(context.name)
    first = list((await cuts.head(context)).positions)
    if len(first) != 1 or any(segment.segment_id != first[0] for segment in active):
        raise _several(context)
    return first[0]


async def writable_segment(context: StreamContext) -> int:
    """Return the id of the stream's one active segment. Raises `StreamSealedError`; see above."""
    segment_id = await readable_segment(context)
    if not await context.controller.current_segments(context.name):
        raise StreamSealedError(f"stream {context.name} is sealed: it can be read, not written")
    return segment_id


async def check_not_scaled(context: StreamContext, segment_id: int) -> None:
    """Raise `BadInputError` if the sealed segment has successors: the stream does not end with it."""
    if await context.controller.successors(context.name, segment_id):
        raise _several(context)


def _several(context: StreamContext) -> BadInputError:
    return BadInputError(
        f"{context.name} has, or had, several segments: a byte stream needs one that is never scaled. "
        "Create it with ScalingPolicy.fixed(1)"
    )
