"""Describe a reader group in sentences, from its shared state and the lengths of its segments at one moment.

It does no I/O. No state says since when something is so; an observer's journal does (``Watch.explain``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pravega_lab.client.reader_group.core.reader import Successors
from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.portable.words import LISTED_MAX, listed, plural
from pravega_lab.protocol.names import epoch_of, number_of, parse_segment_name, segment_name
from pravega_lab.protocol.stream_cut import SEGMENT_READ


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


def checkpoint_words(segments: Iterable[str], predecessors: Iterable[str], due: str) -> str:
    """Return ``#1 and #2 of scope/stream wait for a checkpoint after #0; <due>.``, from full names."""
    waiting = [parse_segment_name(name) for name in segments]
    numbers = [f"#{number_of(place.segment_id)}" for place in waiting]
    after = [f"#{number_of(parse_segment_name(name).segment_id)}" for name in predecessors]
    verb = "wait" if len(numbers) > 1 else "waits"
    where = f"{waiting[0].scope}/{waiting[0].stream}"
    return f"{listed(numbers)} of {where} {verb} for a checkpoint after {listed(after)}; {due}."


def due_words(interval_ms: int, due_in_ms: int | None, about: str = "") -> str:
    """Return when the next automatic checkpoint is due, as the end of a sentence.

    Args:
        interval_ms: The interval of automatic checkpoints, not positive if there are none.
        due_in_ms: The time until then, None if it is not known.
        about: "about " if the time is an estimate.
    """
    if interval_ms <= 0:
        return "automatic checkpoints are off, so a program has to initiate one"
    if due_in_ms is None:
        return f"there is one every {interval_ms / 1000:g} s"
    return f"the next is due in {about}{due_in_ms / 1000:.0f} s" if due_in_ms > 0 else "the next is due now"


def explain_state(
    group: str,
    state: GroupState,
    lengths: Mapping[str, int],
    successors: Mapping[str, Successors],
    *,
    now_ms: int,
) -> Explanation:
    """Explain which readers read, what lags, what waits for which reader, and what no reader reads.

    Args:
        lengths: The length of each segment now, in bytes, by full name. A segment that is missing here is not
            judged.
        successors: The successors of the segments that were read to their end, by full name.
        now_ms: The time now. Readers of the group report their clocks, so it says when a checkpoint is due.
    """
    ready = _ready(state, successors)
    return Explanation(
        [
            *_readers(group, state),
            *_nobody(state),
            *_waiting(state, ready),
            *_at_checkpoint(state, ready, now_ms),
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
    online = f"{plural(n, 'reader')} online ({listed(state.readers)})"
    segments = plural(state.n_segments, "segment")
    return [
        *reset,
        f"{group} reads {streams}: {online}, {segments}, so a fair share is {share:.3g}.",
    ]


def _nobody(state: GroupState) -> list[str]:
    if not state.unassigned:
        return []
    where = (f"{label(segment)} (from {offset:,})" for segment, offset in state.unassigned.items())
    return [f"Nobody reads {listed(where)}."]


def _ready(state: GroupState, successors: Mapping[str, Successors]) -> dict[tuple[str, ...], list[str]]:
    """Return the successors that only wait for a checkpoint, by the segments that are to be completed."""
    found: dict[tuple[str, ...], list[str]] = {}
    predecessors = {name: ids for one in successors.values() for name, ids in one.predecessors.items()}
    for name, ids in predecessors.items():
        place = parse_segment_name(name)
        left = state.future[name].waits_for if name in state.future else ids
        before = tuple(segment_name(place.scope, place.stream, segment_id) for segment_id in left)
        if all(segment in successors for segment in before):
            found.setdefault(before, []).append(name)
    return found


def _waiting(state: GroupState, ready: Mapping[tuple[str, ...], list[str]]) -> list[str]:
    known = {name for names in ready.values() for name in names}
    waiting = [(segment, future) for segment, future in state.future.items() if segment not in known]
    return [
        f"{label(segment)} waits for {listed(f'#{number_of(i)}' for i in future.waits_for)} to be read."
        for segment, future in waiting[:LISTED_MAX]
    ]


def _at_checkpoint(state: GroupState, ready: Mapping[tuple[str, ...], list[str]], now_ms: int) -> list[str]:
    interval_ms = state.config.automatic_checkpoint_interval_ms
    due_in_ms = state.checkpoint_begun_ms + interval_ms - now_ms
    is_known = abs(due_in_ms) <= interval_ms  # readers may have written something else than a clock
    due = due_words(interval_ms, due_in_ms if is_known else None, "about ")
    if state.checkpoints.has_ongoing:
        due = "one is under way"
    return [checkpoint_words(names, after, due) for after, names in list(ready.items())[:LISTED_MAX]]


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
