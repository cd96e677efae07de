"""Describe a reader group in sentences, from its shared state and the lengths of its segments at one moment.

It does no I/O. No state says since when something is so; an observer's journal does (``Watch.explain``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.protocol.names import epoch_of, number_of, parse_segment_name
from pravega_lab.protocol.stream_cut import SEGMENT_READ

LISTED_MAX = 5  # per list; the others are only counted


class Explanation(tuple[str, ...]):
    """Holds sentences in order of importance. Printed, or shown in a notebook, each has its own line."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(self)

    def __repr__(self) -> str:
        return str(self)


def label(segment: str) -> str:
    """Return a short name of a segment: ``#3 e1 of scope/stream``."""
    place = parse_segment_name(segment)
    numbers = f"#{number_of(place.segment_id)} e{epoch_of(place.segment_id)}"
    return f"{numbers} of {place.scope}/{place.stream}"


def listed(items: Iterable[str], most: int = LISTED_MAX) -> str:
    """Return ``a, b and c``, or the first few names and the number of the others."""
    all_items = list(items)
    more = len(all_items) - most
    if more > 0:
        return f"{', '.join(all_items[:most])} and {more:,} more"
    return " and ".join(part for part in (", ".join(all_items[:-1]), *all_items[-1:]) if part)


def explain_state(group: str, state: GroupState, lengths: Mapping[str, int]) -> Explanation:
    """Explain which readers read, what lags, what waits for which reader, and what no reader reads.

    Args:
        lengths: The length of each segment now, in bytes, by full name. A segment that is missing here is not
            judged.
    """
    return Explanation(
        [
            *_readers(group, state),
            *_nobody(state),
            *_waiting(state),
            *_checkpoints(state),
            *_behind(state, lengths),
        ]
    )


def _readers(group: str, state: GroupState) -> list[str]:
    reset = [f"A reset of {group} is under way."] if state.updating_config else []
    streams = listed(state.streams())
    if state.is_end_of_data:
        return [*reset, f"{group} has read all of {streams}."]
    n = len(state.readers)
    if n == 0:
        return [*reset, f"{group} reads {streams}, and no reader is online."]
    share = state.n_segments / n
    online = f"{n} reader{'s' if n > 1 else ''} online ({listed(state.readers)})"
    return [
        *reset,
        f"{group} reads {streams}: {online}, {state.n_segments} segments, so a fair share is {share:.3g}.",
    ]


def _nobody(state: GroupState) -> list[str]:
    if not state.unassigned:
        return []
    where = (f"{label(segment)} (from {offset:,})" for segment, offset in state.unassigned.items())
    return [f"Nobody reads {listed(where)}."]


def _waiting(state: GroupState) -> list[str]:
    return [
        f"{label(segment)} waits for {listed(f'#{number_of(i)}' for i in future.waits_for)} to be read."
        for segment, future in list(state.future.items())[:LISTED_MAX]
    ]


def _checkpoints(state: GroupState) -> list[str]:
    found = []
    for name in state.checkpoints.begun:
        waiting = state.checkpoints.waiting_for(name)
        if waiting:
            owed = (f"{reader} ({_held(state, reader)})" for reader in waiting)
            found.append(f"Checkpoint {name} waits for {listed(owed)}: each passes it with its next read.")
    return found


def _held(state: GroupState, reader: str) -> str:
    held = state.assigned.get(reader, {})
    return f"reads {listed((label(segment) for segment in held), 2)}" if held else "holds no segment"


def _behind(state: GroupState, lengths: Mapping[str, int]) -> list[str]:
    owners = {segment: reader for reader, held in state.assigned.items() for segment in held}
    unread = {
        segment: lengths[segment] - offset
        for segment, offset in state.positions().items()
        if segment in lengths and offset != SEGMENT_READ and lengths[segment] > offset
    }
    if not unread:
        return []
    worst = sorted(unread, key=lambda segment: -unread[segment])[:LISTED_MAX]
    where = (f"{label(s)} {unread[s]:,} bytes ({owners.get(s, 'nobody')})" for s in worst)
    more = f" and {len(unread) - len(worst)} more" if len(unread) > len(worst) else ""
    return [
        f"At most unread behind what the group has stored: {', '.join(where)}{more}. Readers may be further: "
        "they store where they are at checkpoints."
    ]
