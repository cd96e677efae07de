"""Planted bugs of retention, which the checkers must find. Production code never reaches this module."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

from ....store.log.operations import Delete
from ....store.metadata import cuts
from ....store.retention import choice
from ....store.retention import retention as workflow
from ....store.retention.choice import Limits
from ....store.retention.retention import Retention
from ....store.streams.streams import StreamCalls
from ..planting import Replacement, bug

KEEPS_MINIMUM, WAITS = "retention keeps the minimum", "retention waits for subscribers"


@bug("newest-cut-chosen", "retention", KEEPS_MINIMUM)
def _newest_cut() -> list[Replacement]:
    """Where a recorded cut keeps the minimum, the stream is truncated at the newest recorded cut instead."""
    right = choice._within

    def newest(limits: Any, recorded: Any, value: Any) -> Any:
        least, most = right(limits, recorded, value)
        return (recorded[-1] if least else None), most

    return [(choice, "_within", newest)]


@bug("ages-lost", "retention", KEEPS_MINIMUM)
def _ages_lost() -> list[Replacement]:
    """After a restart all recorded cuts count as recorded in 1970."""
    right = Retention.start

    def start(self: Retention, now_ms: int) -> None:
        for stream in self._catalog.streams():
            stream.recorded = [dataclasses.replace(record, now_ms=0) for record in stream.recorded]
        right(self, now_ms)

    return [(Retention, "start", start)]


@bug("subscribers-ignored", "retention", WAITS)
def _subscribers_ignored() -> list[Replacement]:
    """Streams are truncated by their policy alone, whatever their subscribers have released."""
    return [(Retention, "_bound", lambda self, stream: None)]


@bug("unreported-ignored", "retention", WAITS)
def _unreported_ignored() -> list[Replacement]:
    """A subscriber that has released nothing yet holds nothing back, as upstream."""
    right = Retention._bound

    def bound(self: Retention, stream: Any) -> Any:
        all_of_them = stream.subscribers
        stream.subscribers = {name: record for name, record in all_of_them.items() if record.cut}
        try:
            return right(self, stream)
        finally:
            stream.subscribers = all_of_them

    return [(Retention, "_bound", bound)]


@bug("fastest-subscriber", "retention", WAITS)
def _fastest_subscriber() -> list[Replacement]:
    """Of several subscribers, the one that has released most counts."""

    def latest(epochs: Any, given: Any) -> Any:
        best = given[0]
        for cut in given[1:]:
            best = best if cuts.is_not_before(epochs, best, cut) else cut
        return best

    return [(workflow, "lower_bound", latest)]


@bug("no-maximum", "retention", "retention keeps no more than the maximum")
def _no_maximum() -> list[Replacement]:
    """A slow subscriber holds its events for ever, whatever the maximum is."""

    def unlimited(policy: Any) -> Limits:
        return Limits(policy.retentionType == policy.TIME, policy.retentionParam)

    return [(Limits, "of", staticmethod(unlimited))]


@bug("head-follows-subscriber", "retention", "the head never moves back")
def _head_follows() -> list[Replacement]:
    """A late release of a slow subscriber moves the head back to events that are gone."""
    careless = SimpleNamespace(**{**vars(cuts), "is_before": lambda epochs, one, other: one != other})
    return [(workflow, "cuts", careless), (StreamCalls, "may_truncate", lambda self, stream, cut: True)]


@bug("truncated-in-part", "retention", "the head is where the bytes begin")
def _truncated_in_part() -> list[Replacement]:
    """A truncation moves the head, and leaves the segments that are before it."""
    right = StreamCalls.add_truncation

    def in_part(self: StreamCalls, change: Any, *args: Any) -> None:
        right(self, change, *args)
        change.operations = [o for o in change.operations if not isinstance(o, Delete)]

    return [(StreamCalls, "add_truncation", in_part)]
