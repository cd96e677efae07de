"""Random state logs that a group could have written: each update is one that the state before it allows.

Every choice comes from ``choose(n)``, a number from 0 to n-1, so hypothesis can shrink a log and a seed can
make one.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from uuid import UUID

from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.engine.simulation.groups.java_rule import n_to_acquire
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import KeyRange, ReaderGroupConfig, SegmentWithRange, Update
from pravega_lab.protocol.names import parse_segment_name, segment_id, segment_name
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut

Choose = Callable[[int], int]
READERS = ("r1", "r2", "ein-dritter", "r4")
STREAMS = ("s/a", "s/b")


def name(stream: str, epoch: int, number: int) -> str:
    """Ids differ between streams too: Java's fold takes equal ids for one segment (reader-groups.md B2)."""
    return segment_name(*stream.split("/"), segment_id(epoch, 2 * number + STREAMS.index(stream)))


def begin(choose: Choose) -> rg.ReaderGroupStateInit:
    starts = {name(stream, 0, n): 10 * choose(3) for stream in STREAMS for n in range(1 + choose(3))}
    ends = {name("s/b", 0, 0): (1 << 63) - 1} if choose(4) == 0 else {}
    config = ReaderGroupConfig(
        {"s/a": UNBOUNDED, "s/b": StreamCut("s/b", {0: 10})},
        generation=choose(3),
        reader_group_id=UUID(int=choose(99)),
    )
    ranged = {SegmentWithRange(segment): at for segment, at in starts.items()}
    return rg.ReaderGroupStateInit(config, starts, ends, ranged, choose(5) == 0)


class Session:
    """Makes one log, step by step; ``state`` is where it has come to."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self.log: list[Update] = [begin(choose)]
        self.state = GroupState(self.log[0])
        self._epoch = 0
        self._checkpoints = 0
        self._steps: list[Callable[[], list[Update]]] = [
            self._come,
            self._go,
            self._acquire,
            self._acquire,
            self._release,
            self._complete,
            self._complete,
            self._begin_checkpoint,
            self._report,
            self._report,
            self._clear,
            self._other,
        ]

    def step(self) -> None:
        for update in self._steps[self._choose(len(self._steps))]():
            self.log.append(update)
            self.state.apply(update)

    def _pick(self, items: list[str]) -> str | None:
        return items[self._choose(len(items))] if items else None

    def _reader(self) -> str | None:
        return self._pick(self.state.readers)

    def _holding(self) -> tuple[str, str] | None:
        pairs = [(reader, segment) for reader, held in self.state.assigned.items() for segment in held]
        return pairs[self._choose(len(pairs))] if pairs else None

    def _come(self) -> list[Update]:
        reader = self._pick([reader for reader in READERS if not self.state.is_online(reader)])
        return [rg.AddReader(reader)] if reader else []

    def _go(self) -> list[Update]:
        reader = self._reader()
        if reader is None or self._choose(2):
            return []
        held = [segment for segment in self.state.assigned[reader] if self._choose(2)]
        return [rg.RemoveReader(reader, {segment: self._choose(100) - 1 for segment in held})]

    def _acquire(self) -> list[Update]:
        reader = self._reader()
        if reader is None:
            return []
        taken = list(self.state.unassigned)[: n_to_acquire(self.state, reader)]
        return [*(rg.AcquireSegment(reader, s) for s in taken), self._distance(reader)]

    def _distance(self, reader: str) -> Update:
        read = {
            SegmentWithRange(s, self.state.range_of(s)): at for s, at in self.state.assigned[reader].items()
        }
        return rg.UpdateDistanceToTail(reader, self._choose(3) * 20_000, read)

    def _release(self) -> list[Update]:
        found = self._holding()
        return [rg.ReleaseSegment(*found, self._choose(200)), self._distance(found[0])] if found else []

    def _complete(self) -> list[Update]:
        """A split; a merge with another segment held; or an end without successors."""
        found = self._holding()
        if found is None:
            return []
        reader, segment = found
        place = parse_segment_name(segment)
        stream = f"{place.scope}/{place.stream}"
        self._epoch += 1
        kind = self._choose(3)
        waiting = {s: f.waits_for for s, f in self.state.future.items() if place.segment_id in f.waits_for}
        if waiting:
            successors = waiting
        elif kind == 0:
            successors = {name(stream, self._epoch, n): (place.segment_id,) for n in range(2)}
        elif kind == 1:
            others = [s for s in self.state.positions() if s.startswith(stream + "/") and s != segment]
            other = self._pick(others)
            ids = [place.segment_id] + ([parse_segment_name(other).segment_id] if other else [])
            successors = {name(stream, self._epoch, 7): tuple(ids)}
        else:
            successors = {}
        keys = {s: KeyRange(n / 8, (n + 1) / 8) for n, s in enumerate(successors)}
        known = {s: self.state.ranges.get(s, keys[s]) for s in successors}
        return [
            rg.SegmentCompleted(reader, segment, successors, {segment: self.state.range_of(segment), **known})
        ]

    def _begin_checkpoint(self) -> list[Update]:
        self._checkpoints += 1
        silent = "_SILENT_" if self._choose(3) == 0 else ""
        checkpoint = f"cp-{self._checkpoints}{silent}"
        automatic = [rg.ClearCheckpointsBefore(checkpoint)] if self._choose(3) == 0 else []
        return [rg.CreateCheckpoint(checkpoint), *automatic]

    def _report(self) -> list[Update]:
        for checkpoint in self.state.checkpoints.begun:
            waiting = list(self.state.checkpoints.waiting_for(checkpoint))
            reader = self._pick(waiting)
            if reader is not None:
                held = self.state.assigned.get(reader, {})
                at = {segment: self._choose(1000) - 1 for segment in held}
                return [rg.CheckpointReader(checkpoint, reader, at)]
        return []

    def _clear(self) -> list[Update]:
        checkpoint = self._pick(self.state.checkpoints.begun)
        return [rg.ClearCheckpointsBefore(checkpoint)] if checkpoint and self._choose(2) else []

    def _other(self) -> list[Update]:
        kind = self._choose(3)
        if kind == 0:
            return [rg.UpdateCheckpointPublished(self._choose(2) == 1)]
        return [rg.RemoveOutstandingCheckpoints()] if kind == 1 else [rg.UpdatingConfig(self._choose(2) == 1)]


def session_of_seed(seed: int, steps: int = 60) -> Session:
    session = Session(Random(seed).randrange)
    for _ in range(steps):
        session.step()
    return session
