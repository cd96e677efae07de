"""A reader group in a box: real decisions, a list as the log, segments that are numbers. No clock, no I/O.

Every member folds the log by itself and may be behind; a conditional write succeeds only at the log's end.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from pravega_lab.client.reader_group.core import reader as steps
from pravega_lab.client.reader_group.core.reader import Answer, Decision, ReaderCore, Successors, come_online
from pravega_lab.client.reader_group.core.state import Decide, GroupState, fold
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import KeyRange, ReaderGroupConfig, Update
from pravega_lab.protocol.names import parse_segment_name

EVENT_BYTES = 10


@dataclass
class Segment:
    keys: KeyRange
    length: int = 0
    is_sealed: bool = False
    successors: tuple[str, ...] = ()
    predecessors: tuple[str, ...] = ()


class Box:
    """The store: segments and the state log. ``now_ms`` moves when a test says so."""

    def __init__(self, n_segments: int, config: ReaderGroupConfig, n_events: int = 10) -> None:
        self.now_ms = 1_700_000_000_000
        self.segments = {
            f"s/x/{n}.#epoch.0": Segment(
                KeyRange(n / n_segments, (n + 1) / n_segments), n_events * EVENT_BYTES
            )
            for n in range(n_segments)
        }
        self.log: list[Update] = [rg.ReaderGroupStateInit(config, dict.fromkeys(self.segments, 0), {})]
        self.published: list[dict[str, int]] = []
        self._epoch = 0
        self._folded: GroupState | None = None
        self._first = self.log[0]
        self._seen = 0

    def scale(self, sealed: list[str], n_new: int, n_events: int = 10) -> list[str]:
        self._epoch += 1
        low = min(self.segments[s].keys.low for s in sealed)
        high = max(self.segments[s].keys.high for s in sealed)
        width = (high - low) / n_new
        names = [f"s/x/{len(self.segments) + n}.#epoch.{self._epoch}" for n in range(n_new)]
        for n, name in enumerate(names):
            keys = KeyRange(low + n * width, low + (n + 1) * width)
            before = tuple(s for s in sealed if overlap(self.segments[s].keys, keys))
            self.segments[name] = Segment(keys, n_events * EVENT_BYTES, predecessors=before)
        for s in sealed:
            found = tuple(name for name in names if overlap(self.segments[s].keys, self.segments[name].keys))
            self.segments[s].is_sealed, self.segments[s].successors = True, found
        return names

    def successors(self, segment: str) -> Successors:
        names = self.segments[segment].successors
        ids = {name: tuple(map(_id, self.segments[name].predecessors)) for name in names}
        return Successors(ids, {name: self.segments[name].keys for name in names})

    def write(self, decide: Decide) -> list[Update]:
        """As `synchronizer.update`: on the newest state."""
        written = decide(self.state())
        self.log += written
        return written

    def state(self) -> GroupState:
        """The log, folded."""
        if self._folded is not None and self.log[0] is not self._first:
            self._folded, self._seen = None, 0
        self._folded = fold(self.log[self._seen :], self._folded)
        self._first, self._seen = self.log[0], len(self.log)
        return self._folded

    @property
    def end_of_data(self) -> bool:
        return self.state().is_end_of_data


class Member:
    """One online reader of a box. ``events`` are (segment, offset of the event), as handed out."""

    def __init__(self, box: Box, name: str, seed: int = 1, **options: bool) -> None:
        self.box = box
        self.name = name
        assert box.write(come_online(name))
        self._seen = 0
        self._state: GroupState | None = None
        self.core = ReaderCore(name, self._fetched(), now_ms=box.now_ms, chance=Random(seed), **options)
        self.events: list[tuple[str, int]] = []
        self.checkpoints: list[str] = []
        self.steps: list[str] = []
        self.log_bytes = 0  # what a fetch reports

    def _fetched(self) -> GroupState:
        self._state = fold(self.box.log[self._seen :], self._state)
        self._seen = len(self.box.log)
        return self._state

    def decide(self) -> str | None:
        """One `before_read`, every step taken at once."""
        return self.run(self.core.before_read(now_ms=self.box.now_ms))

    def run(self, decision: Decision[str | None], steps_max: int = 1000) -> str | None:
        try:
            step = next(decision)
            for _ in range(steps_max):
                step = decision.send(self._take(step))
        except StopIteration as end:
            found: str | None = end.value
            return found
        return None

    def _take(self, step: steps.Step) -> Answer:
        self.steps.append(type(step).__name__)
        result: object = None
        if isinstance(step, steps.Fetch):
            self._fetched()
            result = self.log_bytes
        elif isinstance(step, steps.Write):
            result = self.box.write(step.decide)
            self._fetched()
        elif isinstance(step, steps.Append):
            self.box.log += step.updates
        elif isinstance(step, steps.FindSuccessors):
            result = self.box.successors(step.segment)
        elif isinstance(step, steps.Publish):
            self.box.published.append(dict(step.positions))
            result = True
        elif isinstance(step, steps.Compact):
            self.box.log.append(self.box.state().to_compact())
            self._fetched()
        elif isinstance(step, steps.FinishReset):
            pass  # it cannot be finished now
        else:
            raise AssertionError(step)
        assert self._state is not None
        return Answer(self._state, self.box.now_ms, result)

    def read(self) -> str | None:
        """One read: at most one event; the name of a checkpoint, if it is at one."""
        checkpoint = self.decide()
        if checkpoint is not None:
            self.checkpoints.append(checkpoint)
            return checkpoint
        for name in self.core.readable():
            segment, offset = self.box.segments[name], self.core.held[name]
            if offset < segment.length:
                self.events.append((name, offset))
                self.core.advance(name, offset + EVENT_BYTES)
                return None
            if segment.is_sealed:
                self.core.end(name)
        return None


def overlap(a: KeyRange, b: KeyRange) -> bool:
    return a.low < b.high and b.low < a.high


def _id(name: str) -> int:
    return parse_segment_name(name).segment_id
