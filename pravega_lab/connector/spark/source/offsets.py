"""The offset of a streaming query: a stream cut per stream, as JSON that Spark compares as text. No I/O.

    {"scope/stream": {"<segment id>": offset, ...}, ...}

Keys are sorted and values are whole numbers. Two offsets are therefore equal as text when nothing new is
there (spark.md 4). Two more keys occur:

* ``initial`` is true in the offset that a new query starts from. It is also in the end of a first batch
  without events, which Spark runs when the stream had none.
* ``since`` is in the end of the first batch and has the cuts at which that batch began. Spark does not log
  the start of the first batch but asks the source for it again. With ``start_stream_cut=latest`` the tail has
  moved by then, and a repeated first batch would lose the events in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pravega_lab.errors import BadInputError

Cuts = dict[str, dict[int, int]]
Offset = dict[str, Any]

INITIAL, SINCE = "initial", "since"


def encode(cuts: Mapping[str, Mapping[int, int]]) -> Offset:
    """Return cuts by scoped stream name as an offset."""
    return {
        stream: {str(segment): offset for segment, offset in sorted(cut.items())}
        for stream, cut in sorted(cuts.items())
    }


def decode(offset: Mapping[str, Any]) -> Cuts:
    """Return the cuts of an offset, without the keys that are not streams.

    Raises:
        BadInputError: ``offset`` is not an offset of this source.
    """
    with suppress(AttributeError, TypeError, ValueError):
        cuts = {
            stream: {int(segment): int(position) for segment, position in cut.items()}
            for stream, cut in offset.items()
            if "/" in stream
        }
        if cuts:
            return cuts
    raise BadInputError(
        f"the checkpoint has {offset!r}, which is not an offset of format('pravega'). "
        f"Was another source used with this checkpointLocation? Give the query a new one"
    )


def initial(cuts: Mapping[str, Mapping[int, int]]) -> Offset:
    """Return the offset that a new query starts from."""
    return {INITIAL: True, **encode(cuts)}


def following(start: Mapping[str, Any], cuts: Mapping[str, Mapping[int, int]]) -> Offset:
    """Return the offset after ``start`` at ``cuts``: equal to ``start`` as text if no cut has moved."""
    if decode(start) == {stream: dict(cut) for stream, cut in cuts.items()}:
        return dict(start)
    found = encode(cuts)
    return {**found, SINCE: encode(decode(start))} if start.get(INITIAL) else found


def bounds(start: Mapping[str, Any], end: Mapping[str, Any]) -> tuple[Cuts, Cuts]:
    """Return the cuts between which a batch reads, from ``end`` alone where it contains both."""
    begin = end if end.get(INITIAL) else end.get(SINCE, start)
    return decode(begin), decode(end)


def check_streams(offset: Mapping[str, Any], streams: tuple[str, ...]) -> None:
    """Refuse to resume from a checkpoint of other streams.

    Raises:
        BadInputError: The streams of ``offset`` are not ``streams``.
    """
    found = sorted(decode(offset))
    if found != sorted(streams):
        raise BadInputError(
            f"the checkpoint is of {', '.join(found)}, the query reads {', '.join(sorted(streams))}. "
            f"A query cannot change its streams: use a new checkpointLocation"
        )
