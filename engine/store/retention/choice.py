"""Decides at which cut a retention policy truncates a stream (pravega.md A7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pravega_lab.protocol.controller import controller_pb2 as pb

from ..metadata.cuts import Cut, is_before, is_not_before
from ..metadata.epochs import Epochs
from ..metadata.records import RetentionRecord

NO_MAXIMUM = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """What a policy limits: ages in ms if ``by_time``, otherwise bytes."""

    by_time: bool
    minimum: int
    maximum: int = NO_MAXIMUM

    @classmethod
    def of(cls, policy: pb.RetentionPolicy) -> Limits:
        """Return the limits of a policy. A maximum of 0 comes from clients that know no maximum."""
        by_time = policy.retentionType == pb.RetentionPolicy.TIME
        return cls(by_time, policy.retentionParam, policy.retentionMax or NO_MAXIMUM)


def truncation_point(
    epochs: Epochs,
    limits: Limits,
    recorded: Sequence[RetentionRecord],
    bound: Cut | None,
    retained_at_bound: int,
    now_ms: int,
) -> Cut | None:
    """Return the cut at which to truncate now, None for none. It may be at or before the present head.

    Args:
        recorded: The recorded cuts, oldest first. The last one is the tail of the stream.
        bound: The lower bound of what the subscribers have finished, None without subscribers.
        retained_at_bound: The bytes from ``bound`` to the tail.
    """
    if not recorded:
        return None
    newest = recorded[-1]

    def value(record: RetentionRecord) -> int:
        """Return what a truncation at this cut would keep."""
        return now_ms - record.now_ms if limits.by_time else newest.size - record.size

    least, most = _within(limits, recorded, value)
    if bound is None:
        return least.cut if least else None
    if limits.by_time:
        old = [r for r in recorded if value(r) >= limits.maximum]
        too_old = old[-1] if old else None
        if (
            too_old
            and is_before(epochs, bound, too_old.cut)
            and retained_at_bound <= newest.size - too_old.size
        ):
            too_old = None  # no byte lies between: the end of a segment, and its successors' beginnings
        return _by_time(epochs, recorded, bound, least, most, too_old)
    if retained_at_bound < limits.minimum:
        if least is None or is_before(epochs, least.cut, bound):
            return least.cut if least else None
        return _newest_before(epochs, recorded, bound)
    if retained_at_bound < limits.maximum or most is None or value(most) >= retained_at_bound:
        return bound
    return most.cut


def _within(
    limits: Limits, recorded: Sequence[RetentionRecord], value: Callable[[RetentionRecord], int]
) -> tuple[RetentionRecord | None, RetentionRecord | None]:
    """Return the cut that keeps least, but the minimum, and the one that keeps most within both limits.

    Where no cut is within the maximum, the second is the first.
    """
    enough = [r for r in recorded if value(r) >= limits.minimum]
    least = min(enough, key=value, default=None)
    return least, max((r for r in enough if value(r) <= limits.maximum), key=value, default=least)


def _by_time(
    epochs: Epochs,
    recorded: Sequence[RetentionRecord],
    bound: Cut,
    least: RetentionRecord | None,
    most: RetentionRecord | None,
    too_old: RetentionRecord | None,
) -> Cut | None:
    """Decide for a policy by time. ``too_old`` is the newest cut that is as old as the maximum."""
    if least is None or most is None:
        return None
    if is_before(epochs, least.cut, bound):
        return least.cut
    if not is_not_before(epochs, least.cut, bound):
        return _newest_before(epochs, recorded, bound)
    if too_old is None or is_not_before(epochs, bound, too_old.cut):
        return bound
    return most.cut if is_before(epochs, bound, too_old.cut) else too_old.cut


def _newest_before(epochs: Epochs, recorded: Sequence[RetentionRecord], bound: Cut) -> Cut | None:
    return next((r.cut for r in reversed(recorded) if is_not_before(epochs, bound, r.cut)), None)
