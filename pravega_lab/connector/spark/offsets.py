"""A streaming offset is a stream cut per stream, as JSON that Spark compares as text. Pure.

    {"scope/stream": {"<segment id>": offset, ...}, ...}

Keys are sorted, values are whole numbers, so "nothing new" is equal text (reference/spark.md 4). Two more
keys occur:

* ``initial``: true only in the offset that a new query starts from, and in the end of a first batch without
  events, which Spark runs when nothing was there.
* ``since``: only in the end of the first batch: the cuts at which that batch began. Spark does not log the
  start of the first batch but asks for it again; with ``start_stream_cut=latest`` the answer would have moved
  on, and a repeated first batch would lose what lay between.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import BadInputError

Cuts = dict[str, dict[int, int]]
Offset = dict[str, Any]

INITIAL, SINCE = "initial", "since"


def encode(cuts: Mapping[str, Mapping[int, int]]) -> Offset:
    """Cuts by scoped stream name as an offset."""
    return {
        stream: {str(segment): offset for segment, offset in sorted(cut.items())}
        for stream, cut in sorted(cuts.items())
    }


def decode(offset: Mapping[str, Any]) -> Cuts:
    """The cuts of an offset; what is no stream is left out.

    Raises:
        BadInputError: Not an offset of this source.
    """
    try:
        return {
            stream: {int(segment): int(position) for segment, position in cut.items()}
            for stream, cut in offset.items()
            if "/" in stream
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise BadInputError(
            f"the checkpoint holds {offset!r}, which is no offset of format('pravega'). "
            f"Was another source used with this checkpointLocation? Give the query a new one"
        ) from error


def initial(cuts: Mapping[str, Mapping[int, int]]) -> Offset:
    """The offset that a new query starts from."""
    return {INITIAL: True, **encode(cuts)}


def following(start: Mapping[str, Any], cuts: Mapping[str, Mapping[int, int]]) -> Offset:
    """The offset after ``start`` at ``cuts``: ``start`` itself, as text, when nothing has moved."""
    if decode(start) == {stream: dict(cut) for stream, cut in cuts.items()}:
        return dict(start)
    found = encode(cuts)
    return {**found, SINCE: encode(decode(start))} if start.get(INITIAL) else found


def bounds(start: Mapping[str, Any], end: Mapping[str, Any]) -> tuple[Cuts, Cuts]:
    """The cuts between which a batch lies, as far as possible from ``end`` alone."""
    begin = end if end.get(INITIAL) else end.get(SINCE, start)
    return decode(begin), decode(end)


def check_streams(offset: Mapping[str, Any], streams: tuple[str, ...]) -> None:
    """Refuse to go on from a checkpoint that belongs to other streams.

    Raises:
        BadInputError: The streams of ``offset`` are not ``streams``.
    """
    found = sorted(decode(offset))
    if found != sorted(streams):
        raise BadInputError(
            f"the checkpoint is of {', '.join(found)}, the query reads {', '.join(sorted(streams))}. "
            f"A query cannot change its streams: use a new checkpointLocation"
        )
