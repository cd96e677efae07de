"""Scale streams manually, checking the rules first: a controller only says FAILURE (pravega.md A5)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from pravega_lab.client.connection.retry import Retries
from pravega_lab.client.context import StreamContext
from pravega_lab.client.controller.calls import Lost, uncertain_if_lost
from pravega_lab.client.values import ScalingKind, ScalingPolicy
from pravega_lab.errors import BadInputError, ScaleRefusedError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.hashing import Range, equal_parts, joined
from pravega_lab.protocol.names import SegmentRange

POLL_S = 0.02
ASAP = 0  # the new epoch's time: the controller uses the earliest possible
POLL_S_MAX = 0.5

# Scales that this process asked for, the newest last: the stream and its new segments. With them an
# observer can distinguish manual scales from those that the store decided on.
ASKED_HERE: deque[tuple[str, tuple[int, ...]]] = deque(maxlen=1000)


async def scale(context: StreamContext, seal: Sequence[int], ranges: Sequence[Range]) -> list[SegmentRange]:
    """Ask for the scale, wait until it is done, and return the new segments, lowest key range first.

    It waits for another transition in progress. Raises `ScaleRefusedError`.
    """
    with uncertain_if_lost() as lost:
        new = await _scaled(context, seal, ranges, lost)
    context.learn(new)
    return sorted(new, key=lambda segment: segment.low)


async def _scaled(
    context: StreamContext, seal: Sequence[int], ranges: Sequence[Range], lost: Lost
) -> Sequence[SegmentRange]:
    busy = Retries(f"scale {context.name}", context.retry_for_s, context.chance)
    await check(context, seal, ranges)
    while True:
        answer = await context.controller.scale(context.name, seal, ranges, ASAP, lost)
        if answer.status == pb.ScaleResponse.STARTED:
            new = [SegmentRange(r.segmentId.segmentId, r.minKey, r.maxKey) for r in answer.segments]
            _asked_for(context, new)
            await _wait(context, answer.epoch)
            return new
        if answer.status != pb.ScaleResponse.PRECONDITION_FAILED:
            await busy.pause(ScaleRefusedError("FAILURE: perhaps another scale is in progress"))
        try:
            await check(context, seal, ranges)
        except ScaleRefusedError:
            new = await _outcome(context, seal, ranges)
            if not new:
                raise
            _asked_for(context, new)
            return new
        if answer.status == pb.ScaleResponse.PRECONDITION_FAILED:
            raise ScaleRefusedError(
                f"scale {context.name}: refused (PRECONDITION_FAILED). Segments {list(seal)} into "
                f"{len(ranges)} would break the policy's minimum, or they are no longer active"
            )


def _asked_for(context: StreamContext, new: Sequence[SegmentRange]) -> None:
    ASKED_HERE.append((context.name, tuple(segment.segment_id for segment in new)))


async def _outcome(
    context: StreamContext, seal: Sequence[int], ranges: Sequence[Range]
) -> list[SegmentRange]:
    """Return the segments that such a scale has left, none if another one sealed these segments.

    The answer to an attempt that succeeded may have been lost, and then a later attempt is refused.
    """
    found: dict[int, SegmentRange] = {}
    for segment_id in seal:
        for successor in await context.controller.successors(context.name, segment_id):
            found[successor.segment.segment_id] = successor.segment
    as_asked = sorted((s.low, s.high) for s in found.values()) == sorted(ranges)
    return list(found.values()) if as_asked else []


async def _wait(context: StreamContext, epoch: int) -> None:
    pause_s = POLL_S
    while not await context.controller.is_scaled(context.name, epoch):
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, POLL_S_MAX)


async def check(context: StreamContext, seal: Sequence[int], ranges: Sequence[Range]) -> None:
    """Raise `ScaleRefusedError` with the rule that the request breaks, if it breaks one."""
    active = {s.segment_id: s for s in await context.controller.current_segments(context.name)}
    missing = [segment for segment in seal if segment not in active]
    if missing or not seal:
        raise ScaleRefusedError(
            f"scale {context.name}: segments {missing or list(seal)} are not active, {list(active)} are"
        )
    for low, high in ranges:
        if not 0.0 <= low < high <= 1.0:
            raise ScaleRefusedError(
                f"scale {context.name}: the range ({low}, {high}] is empty or outside 0..1"
            )
    old = joined([(active[s].low, active[s].high) for s in seal])
    new = joined(ranges)
    if old != new:
        raise ScaleRefusedError(
            f"scale {context.name}: the new ranges cover {new}, the sealed segments {old}; they must be equal"
        )
    least = (await context.controller.configuration(context.name)).scaling.min_segments
    after = len(active) - len(set(seal)) + len(ranges)
    if after < least:
        raise ScaleRefusedError(
            f"scale {context.name}: {after} segments would be left, its policy wants at least {least}; "
            "stream.update(scaling=...) changes that"
        )


def check_policy(stream: str, policy: ScalingPolicy) -> None:
    """Raise `BadInputError` for a policy that a controller refuses without a reason (pravega.md A6)."""
    if policy.min_segments < 1:
        raise BadInputError(f"stream {stream}: {policy.min_segments} segments; at least 1")
    if policy.kind is not ScalingKind.FIXED and policy.target_rate < 1:
        raise BadInputError(f"stream {stream}: a target rate of {policy.target_rate} per second; at least 1")


def split_range(segment: SegmentRange, parts: int) -> list[Range]:
    """Return ``parts`` ranges of equal width. The last one ends exactly where the segment does."""
    if parts < 2:
        raise BadInputError(f"split into {parts} parts: at least 2")
    return equal_parts(segment.low, segment.high, parts)
