"""The end of a batch under a byte limit: a stream cut at event boundaries, with every lineage advanced in
proportion.

The functions here do no I/O; a callable that they receive finds event boundaries. The key space shares the
limit in proportion to its backlog. Segments that were written at the same time are therefore read at about
the same time, and no part runs far ahead in event time. What a segment does not need of its share goes to its
successors. The end of a share is rounded up to the next event boundary. So every lineage advances, and a
batch exceeds the limit by at most one event per segment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from pravega_lab.connector.spark.source.lineage import Lineage, Span
from pravega_lab.protocol.names import epoch_of

#: (segment id, offset of an event, smallest wanted offset) -> the first event boundary at or after that
#: offset.
Boundary = Callable[[int, int, int], int]
#: How often `backlog_of_atoms` improves its estimate. More rounds change little.
ROUNDS = 20


@dataclass(frozen=True)
class Backlog:
    """The unread part of one stream: from the start of the batch to the newest known position.

    Args:
        spans: Key ranges of all segments between the two.
        begin: Where reading each segment begins: its offset in the start cut, or 0.
        end: Where it ends: its offset in the target cut, or its sealed length.
        target: Ids of the segments in the target cut. Reading does not leave them for their successors.
    """

    spans: Mapping[int, Span]
    begin: Mapping[int, int]
    end: Mapping[int, int]
    target: frozenset[int]
    lineage: Lineage = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lineage", Lineage(self.spans))

    def left(self, segment: int) -> int:
        """Return the number of bytes of ``segment`` that are left to read."""
        return max(0, self.end[segment] - self.begin[segment])

    @property
    def size_bytes(self) -> int:
        """The number of bytes that are left to read in all segments."""
        return sum(self.left(segment) for segment in self.lineage.order)


def advance(
    backlogs: Sequence[Backlog], limit_bytes: int, boundaries: Sequence[Boundary]
) -> list[dict[int, int]]:
    """Return the end cuts, one per stream, of a batch of about ``limit_bytes``.

    The batch takes all that is left, too, if the limit allows no progress. A target in the middle of a scale
    has segments that no other cut lets begin.
    """
    total = sum(backlog.size_bytes for backlog in backlogs)
    if total > limit_bytes:
        found = [
            cut(backlog, _ends(backlog, limit_bytes * backlog.size_bytes / total, boundary))
            for backlog, boundary in zip(backlogs, boundaries, strict=True)
        ]
        if found != [cut(backlog, backlog.begin) for backlog in backlogs]:
            return found
    return [{segment: backlog.end[segment] for segment in sorted(backlog.target)} for backlog in backlogs]


def _ends(backlog: Backlog, limit_bytes: float, boundary: Boundary) -> dict[int, int]:
    ends = dict(backlog.begin)
    for segment, take in takes(backlog, limit_bytes).items():
        begin, end = backlog.begin[segment], backlog.end[segment]
        if take >= end - begin:
            ends[segment] = end
        elif take > 0:
            ends[segment] = min(end, boundary(segment, begin, begin + take))
    return ends


def takes(backlog: Backlog, limit_bytes: float) -> dict[int, int]:
    """Return how many bytes to take of each segment, before rounding to event boundaries."""
    lineage = backlog.lineage
    weights = backlog_of_atoms(backlog)
    later = list(weights)
    total = sum(later) or 1.0
    share = [limit_bytes * ahead / total for ahead in later]
    blocker: list[int | None] = [None] * len(later)
    found: dict[int, int] = {}
    for segment in lineage.order:
        atoms = lineage.atoms[segment]
        left = backlog.left(segment)
        have = sum(share[atom] for atom in atoms)
        closed = any(_holds_back(blocker[atom], segment) for atom in (*lineage.gate[segment], *atoms))
        found[segment] = 0 if closed else min(left, ceil(have))
        if not closed and found[segment] == left:
            _hand_on(atoms, weights, have - left, left, later, share)
            continue
        for atom in atoms:
            blocker[atom] = segment if blocker[atom] is None else blocker[atom]
    return found


def _holds_back(blocker: int | None, segment: int) -> bool:
    return blocker is not None and not _same_epoch(blocker, segment)


def backlog_of_atoms(backlog: Backlog) -> list[float]:
    """Return how many bytes are left to read in each atom, estimated where a segment has several atoms.

    The paths of all atoms span the same time, so the bytes on a path tell how fast its keys were written. A
    segment divides its bytes among its atoms in proportion to that, and with these parts the bytes on the
    paths are computed again. The widths of the atoms are only the first guess: a stream is scaled because
    some ranges are written faster than others.
    """
    lineage = backlog.lineage
    found = list(lineage.widths)
    for _ in range(ROUNDS):
        weights, found = found, [0.0] * len(found)
        for segment in lineage.order:
            for atom, part in _parts(backlog.left(segment), lineage.atoms[segment], weights):
                found[atom] += part
    return found


def _parts(left: int, atoms: range, weights: Sequence[float]) -> list[tuple[int, float]]:
    """Divide the bytes of a segment among its atoms."""
    whole = sum(weights[atom] for atom in atoms) or 1.0
    return [(atom, left * weights[atom] / whole) for atom in atoms]


def _hand_on(
    atoms: range, weights: Sequence[float], rest: float, left: int, later: list[float], share: list[float]
) -> None:
    """Pass the rest of a finished segment's share to its successors, in proportion to their backlog."""
    for atom, part in _parts(left, atoms, weights):
        later[atom] = max(0.0, later[atom] - part)
    ahead = sum(later[atom] for atom in atoms)
    for atom in atoms:
        share[atom] = max(0.0, rest) * later[atom] / ahead if ahead > 0 else 0.0


def cut(backlog: Backlog, ends: Mapping[int, int]) -> dict[int, int]:
    """Return the stream cut at ``ends``. It covers the key space once, also in the middle of a merge.

    A segment that was read to its end stays in the cut until reading may begin all of its successors. A
    segment that reading may not begin yet does not count as finished, even if it is empty. One that was begun
    before, at a start in the middle of a scale, keeps its position.
    """
    lineage = backlog.lineage
    opened: dict[int, bool] = {}
    done: dict[int, bool] = {}
    for segment in lineage.order:
        before = (older for atom in lineage.gate[segment] for older in lineage.paths[atom] if older < segment)
        opened[segment] = backlog.begin[segment] > 0 or all(
            done[older] for older in before if not _same_epoch(older, segment)
        )
        at_end = segment not in backlog.target and ends[segment] >= backlog.end[segment]
        done[segment] = opened[segment] and at_end
    found: set[int] = set()
    for path in lineage.paths:
        at = 0
        while at + 1 < len(path) and done[path[at]] and opened[path[at + 1]]:
            at += 1
        if path:
            found.add(path[at])
    return {segment: ends[segment] for segment in sorted(found)}


def _same_epoch(one: int, other: int) -> bool:
    return epoch_of(one) == epoch_of(other)
