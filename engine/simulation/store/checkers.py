"""The rules that must hold in every run of the store, checked from the journal alone.

Each checker takes a `History` and returns one sentence per violation; an empty list is a pass. `CHECKERS`
names them all, and `check` runs them. The stored events come from a store that was killed and recovered at
the end, so events that were only in memory count as lost.

Source: pravega.md A3 (who owns a key), pravega.md A5 (epochs, successors), pravega.md A9 (order over
successors), pravega.md A10 (transactions), pravega.md A13 (table versions).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from pravega_lab.protocol.hashing import key_position
from pravega_lab.protocol.names import epoch_of

from ..kernel.journal import Journal
from .clocks.checkers import leases_are_kept, leases_end_in_time
from .conditions.checkers import conditions_are_met_once, refusals_are_true
from .history import KEYLESS, History, Reader, Segment, Transaction, key_of, source_of
from .key_values.checkers import (
    conditions_exclude,
    listings_are_complete,
    listings_are_in_order,
    transfers_are_whole,
)
from .register import table_is_a_register
from .retention.checkers import (
    head_is_where_the_bytes_begin,
    head_never_moves_back,
    maximum_is_kept,
    minimum_is_kept,
    subscribers_are_waited_for,
)
from .tokens.checkers import expired_tokens_are_refused, tokens_are_good_in_time, tokens_open_nothing_else

Problems = list[str]


def check(journal: Journal) -> Problems:
    """Return all violations. Each begins with the name of its checker."""
    history = History(journal)
    return [f"{name}: {problem}" for name, checker in CHECKERS.items() for problem in checker(history)]


# -- events --------------------------------------------------------------------------------------------------


def nothing_lost(history: History) -> Problems:
    """Every acknowledged event is stored, or was read before it was truncated."""
    return [
        f"{event} was acknowledged and is gone" for event in history.acked_seq if event not in history.places
    ]


def nothing_doubled(history: History) -> Problems:
    """No event is stored twice."""
    return [f"{event} stands at {places}" for event, places in history.places.items() if len(places) > 1]


def nothing_invented(history: History) -> Problems:
    """Every stored event was written, and is in the segment that owns its key."""
    problems = [f"{event} was never written" for event in history.places if event not in history.write_seq]
    ranges = {segment.segment_id: segment for epoch in history.epochs.values() for segment in epoch}
    for event, places in history.places.items():
        key = key_of(event)
        for place in places:
            owner = ranges.get(place.segment_id)
            if owner is None:
                problems.append(f"{event} stands in segment {place.segment_id}, which is in no epoch")
            elif key != KEYLESS and not owner.owns(key_position(key)):
                problems.append(f"{event} stands in {owner}, which does not own its key")
    return problems


def order_per_key(history: History) -> Problems:
    """Along the segments that owned a key, the events of one source are a prefix of what it wrote."""
    problems = []
    for key in sorted({key for _, key in history.written} - {KEYLESS}):
        stored: dict[str, list[str]] = {}
        for event in history.along(history.lineage(key_position(key))):
            if key_of(event) == key:
                stored.setdefault(source_of(event), []).append(event)
        for (source, its_key), written in history.written.items():
            if its_key == key:
                problems += _order_of(source, key, written, stored.get(source, []))
    return problems


def _order_of(source: str, key: str, written: list[str], found: list[str]) -> Problems:
    expected = written[: len(found)]
    if found == expected:
        return []
    at = next(i for i, (a, b) in enumerate(itertools.zip_longest(found, expected)) if a != b)
    return [f"{source}, key {key}: {found[at]} where {(*expected, 'nothing')[at]} belongs"]


# -- epochs --------------------------------------------------------------------------------------------------


def epochs_cover_the_keys(history: History) -> Problems:
    """The ranges of every epoch cover 0 to 1 without gap or overlap, to the last bit."""
    problems = []
    for epoch, segments in history.epochs.items():
        bounds = sorted((segment.low, segment.high) for segment in segments)
        edges = [0.0, *(high for _, high in bounds)]
        if [low for low, _ in bounds] != edges[:-1] or edges[-1] != 1.0:
            problems.append(f"the ranges of epoch {epoch} are {bounds}")
        problems += [
            f"epoch {epoch} holds segment {s.segment_id} of a later one"
            for s in segments
            if epoch_of(s.segment_id) > epoch
        ]
    if history.epochs and sorted(history.epochs) != list(range(len(history.epochs))):
        problems.append(f"epochs are missing: there are {sorted(history.epochs)}")
    return problems


def successors_agree(history: History) -> Problems:
    """Successors and their predecessors agree with the epochs."""
    problems = []
    for segment_id, found in history.successors.items():
        expected = _successors_by_epochs(history, segment_id)
        got = {after.segment_id: sorted(before) for after, before in found}
        if got != expected:
            problems.append(f"successors of {segment_id} are {got}; the epochs say {expected}")
    return problems


def _successors_by_epochs(history: History, segment_id: int) -> dict[int, list[int]]:
    own = _last_epoch_of(history, segment_id)
    if own is None:
        return {}
    epoch, segment = own
    following = [s for s in history.epochs.get(epoch + 1, []) if s.overlaps(segment)]
    return {
        s.segment_id: sorted(p.segment_id for p in history.epochs[epoch] if p.overlaps(s)) for s in following
    }


def _last_epoch_of(history: History, segment_id: int) -> tuple[int, Segment] | None:
    for epoch in sorted(history.epochs, reverse=True):
        for segment in history.epochs[epoch]:
            if segment.segment_id == segment_id:
                return epoch, segment
    return None


def sealed_segments_are_sealed(history: History) -> Problems:
    """A segment that is not in the newest epoch is sealed."""
    if not history.epochs:
        return []
    active = {s.segment_id for s in history.epochs[max(history.epochs)]}
    return [
        f"segment {segment_id} is of no active epoch and not sealed"
        for segment_id, stored in history.stored.items()
        if segment_id not in active and not stored.sealed
    ]


# -- readers -------------------------------------------------------------------------------------------------


def readers_agree(history: History) -> Problems:
    """Every event that a reader received is stored where it was read: no reader sees what a crash removes."""
    problems = []
    at = {(s, offset): event for s, stored in history.stored.items() for offset, event in stored.events}
    for reader in history.readers.values():
        for _, place, event in reader.reads:
            if at.get((place.segment_id, place.offset)) != event:
                problems.append(f"{reader.who} read {event} at {place}, where there is no such event")
    return problems


def readers_in_order(history: History) -> Problems:
    """One life of a reader reads each segment in order, and a successor after all its predecessors."""
    return [problem for reader in history.readers.values() for problem in _order_of_reader(history, reader)]


def _order_of_reader(history: History, reader: Reader) -> Iterator[str]:
    left = {segment_id: _events_after(history, reader, segment_id) for segment_id in history.stored}
    for _, place, event in reader.reads:
        waiting = left.get(place.segment_id, [])
        if not waiting or waiting[0] != place.offset:
            yield f"{reader.who} read {event} at {place}, where offset {waiting[:1]} was next"
            continue
        waiting.pop(0)
        unread = [p for p in history.predecessors(place.segment_id) if left.get(p)]
        if unread:
            yield f"{reader.who} read {event} at {place} before the rest of its predecessors {unread}"


def _events_after(history: History, reader: Reader, segment_id: int) -> list[int]:
    """Return the offsets of the events that this life of the reader has to read, from its first
    position on.
    """
    offsets = [offset for offset, _ in history.stored[segment_id].events]
    if reader.positions is None:
        return offsets
    if segment_id in reader.positions:
        start = reader.positions[segment_id]
        older = (s for s, at in reader.positions.items() if s < segment_id and at != -1)
        if start == -1 and any(_overlap(history, s, segment_id) for s in older):
            return offsets  # it has not begun (pravega.md A9)
        return [offset for offset in offsets if start != -1 and offset >= start]
    if any(s > segment_id and _overlap(history, s, segment_id) for s in reader.positions):
        return []  # the segment is before the cut
    return offsets


def _overlap(history: History, one: int, other: int) -> bool:
    ranges = {segment.segment_id: segment for epoch in history.epochs.values() for segment in epoch}
    return one in ranges and other in ranges and ranges[one].overlaps(ranges[other])


def readers_finish(history: History) -> Problems:
    """A reader that reached the end of the sealed stream received every event in one of its lives."""
    lives: dict[str, list[Reader]] = {}
    for reader in history.readers.values():
        lives.setdefault(reader.who.rsplit(".", 1)[0], []).append(reader)
    problems = []
    for name, readers in lives.items():
        if readers[-1].came_to_the_end and not any(reader.was_truncated for reader in readers):
            shown = {event for reader in readers for _, _, event in reader.reads}
            expected = _expected(history, readers[0])
            problems += [
                f"{name} came to the end without {event}" for event in expected if event not in shown
            ]
    return problems


def readers_to_the_tail(history: History) -> Problems:
    """A read from head to tail returns every event that was acknowledged before it began."""
    problems = []
    for reader in history.readers.values():
        if reader.came_to_the_tail:
            shown = {event for _, _, event in reader.reads}
            problems += [
                f"{reader.who} came to the tail without {event}"
                for event in _expected(history, reader)
                if history.acked_seq.get(event, reader.begin_seq) < reader.begin_seq and event not in shown
            ]
    return problems


def _expected(history: History, reader: Reader) -> Iterator[str]:
    """Yield all events after the first position of this life of the reader."""
    for segment_id, stored in history.stored.items():
        after = set(_events_after(history, reader, segment_id))
        yield from (event for offset, event in stored.events if offset in after)


# -- transactions --------------------------------------------------------------------------------------------


def transactions_whole(history: History) -> Problems:
    """Committed transactions are stored completely, aborted ones not at all."""
    problems = []
    for txn in history.transactions.values():
        events = txn.all_events()
        found = [event for event in events if event in history.places]
        if txn.committed_seq is not None and txn.aborted_seq is not None:
            problems.append(f"{txn.name} was seen both committed and aborted")
        if found and len(found) < len(events):
            problems.append(f"{txn.name} is there in part: {len(found)} of {len(events)} events")
        if txn.committing_seq is not None or txn.committed_seq is not None:
            problems += [f"{txn.name} is committed, but {e} is missing" for e in events if e not in found]
        if found and (txn.commit_seq is None or txn.aborted_seq is not None):
            problems.append(f"{txn.name} is not committed, yet {found[0]} is there")
    return problems


def transactions_invisible(history: History) -> Problems:
    """No reader receives an event of a transaction before commit was called."""
    problems = []
    for reader in history.readers.values():
        for seq, place, event in reader.reads:
            txn = history.transactions.get(source_of(event))
            if txn is not None and (txn.commit_seq is None or seq < txn.commit_seq):
                problems.append(f"{reader.who} read {event} at {place} before {txn.name} was to be committed")
    return problems


def transactions_in_one_piece(history: History) -> Problems:
    """In each segment the events of a transaction are contiguous, in the order of writing per key."""
    problems = []
    for segment_id, stored in history.stored.items():
        sources = [source_of(event) for _, event in stored.events]
        runs = [source for source, _ in itertools.groupby(sources) if source in history.transactions]
        problems += [f"{s} is not in one piece in segment {segment_id}" for s in _repeated(runs)]
    for txn in history.transactions.values():
        for key, events in txn.events.items():
            if key != KEYLESS:
                found = [e for e in history.along(history.lineage(key_position(key))) if e in events]
                if found and found != events:
                    problems.append(f"{txn.name}, key {key}: stored in the order {found}")
    return problems


def _repeated(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [name for name, times in seen.items() if times > 1]


def transactions_in_commit_order(history: History) -> Problems:
    """If one commit returned before another was called, its transaction comes first.

    For transactions of different epochs this holds only once the first is COMMITTED, because lower epochs are
    committed first (pravega.md A10).
    """
    problems = []
    ordered = sorted((t for t in history.transactions.values() if t.commit_seq is not None), key=_commit_seq)
    for first, second in itertools.permutations(ordered, 2):
        known = first.committing_seq if first.epoch == second.epoch else first.committed_seq
        if known is None or known > _commit_seq(second):
            continue
        for key in first.events:
            if key != KEYLESS and key in second.events:
                problems += _commit_order_of(history, key, first, second)
    return problems


def _commit_seq(txn: Transaction) -> int:
    assert txn.commit_seq is not None
    return txn.commit_seq


def _commit_order_of(history: History, key: str, first: Transaction, second: Transaction) -> Problems:
    names = (first.name, second.name)
    along = [source_of(e) for e in history.along(history.lineage(key_position(key))) if key_of(e) == key]
    found = [source for source in along if source in names]
    if found == sorted(found, key=names.index):
        return []
    return [f"{first.name} was committed before {second.name}, but for key {key} it comes after it"]


CHECKERS: dict[str, Callable[[History], Problems]] = {
    "nothing acknowledged is lost": nothing_lost,
    "nothing is doubled": nothing_doubled,
    "nothing is invented": nothing_invented,
    "order per key": order_per_key,
    "epochs cover the key space": epochs_cover_the_keys,
    "successors agree with epochs": successors_agree,
    "left segments are sealed": sealed_segments_are_sealed,
    "readers saw what is stored": readers_agree,
    "readers in order": readers_in_order,
    "readers come to the end": readers_finish,
    "readers come to the tail": readers_to_the_tail,
    "transactions all or nothing": transactions_whole,
    "transactions invisible until commit": transactions_invisible,
    "transactions in one piece": transactions_in_one_piece,
    "transactions in order of commit": transactions_in_commit_order,
    "table is linearizable": table_is_a_register,
    "retention keeps the minimum": minimum_is_kept,
    "retention waits for subscribers": subscribers_are_waited_for,
    "retention keeps no more than the maximum": maximum_is_kept,
    "the head never moves back": head_never_moves_back,
    "the head is where the bytes begin": head_is_where_the_bytes_begin,
    "leases end in time": leases_end_in_time,
    "leases are kept": leases_are_kept,
    "tokens open nothing else": tokens_open_nothing_else,
    "expired tokens are refused": expired_tokens_are_refused,
    "tokens are good in time": tokens_are_good_in_time,
    "transfers are whole": transfers_are_whole,
    "conditions exclude each other": conditions_exclude,
    "listings are in order": listings_are_in_order,
    "listings are complete": listings_are_complete,
    "conditions are met once": conditions_are_met_once,
    "refusals are true": refusals_are_true,
}
