"""`LogModel`: a second implementation of the fold of a reader group's state log, for the checkers.

It says who held which segment, from where to where (`Tenure`). It is kept apart from
`client.reader_group.core.state` on purpose: a fault there must not hide itself here.

Source: reader-groups.md B2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.names import parse_segment_name


@dataclass
class Tenure:
    """The time in which a member holds a segment.

    ``how`` says how it ended: released, completed, removed, reset, or None if it lasted to the end of the
    log.
    """

    segment: str
    begin: int
    end: int | None = None
    how: str | None = None


@dataclass
class Membership:
    """A reader from its addition to its removal. ``at`` is the end of the log entry that added it."""

    reader: str
    at: int
    generation: int
    tenures: list[Tenure] = field(default_factory=list)
    reports: list[tuple[str, dict[str, int], dict[str, int]]] = field(default_factory=list)

    def held(self) -> list[Tenure]:
        """Return the tenures that have not ended."""
        return [tenure for tenure in self.tenures if tenure.how is None]


class LogModel:
    """The state of a group, folded from its log. ``problems`` has the entries that no group may write."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.members: list[Membership] = []
        self.online: dict[str, Membership] = {}
        self.unassigned: dict[str, int] = {}
        self.stored: dict[str, dict[str, int]] = {}
        self.future: dict[str, set[int]] = {}
        self.completed: list[str] = []  # segments completed in this generation
        self.begins: dict[int, dict[str, int]] = {}  # by generation, its initial positions
        # segments that waited for predecessors when this generation began
        self.begun_waiting: dict[str, set[int]] = {}
        self.reported: dict[str, int] = {}  # the last reported position in each held segment
        self.generation = -1
        self.acquired: list[tuple[str, list[str], list[str]]] = []  # segment, completed before, begun with
        # name, positions, and the segments completed by then
        self.complete_checkpoints: list[tuple[str, dict[str, int], list[str]]] = []
        self._begun: list[str] = []  # the checkpoints that were not dropped
        self._waiting: dict[str, tuple[set[str], dict[str, int], bool]] = {}

    def take(self, update: Any, behind: int) -> None:
        """Apply one update, which ends at offset ``behind`` of the log."""
        name = type(update).__name__
        handler = getattr(self, f"_on_{name}", None)
        if handler is None:
            return
        try:
            handler(update, behind)
        except KeyError as missing:
            self.problems.append(f"state log: {name} at {behind} is about {missing}, which is not there")

    def _on_ReaderGroupStateInit(self, update: rg.ReaderGroupStateInit, behind: int) -> None:
        self._begin(update.config.generation, dict(update.start_segments), {})

    def _on_CompactReaderGroupState(self, update: rg.CompactReaderGroupState, behind: int) -> None:
        if update.config.generation > self.generation:
            waiting = {name: set(ids) for name, ids in update.future_segments.items()}
            self._begin(update.config.generation, dict(update.unassigned_segments), waiting)
            return
        same = (
            dict(update.unassigned_segments) == self.unassigned
            and update.assigned_segments == self.stored
            and {name: set(ids) for name, ids in update.future_segments.items()} == self.future
        )
        if not same:
            self.problems.append(f"compaction: at {behind} the compacted state is not the state")

    def _begin(self, generation: int, unassigned: dict[str, int], future: dict[str, set[int]]) -> None:
        if generation <= self.generation:
            self.problems.append(f"reset: generation {generation} begins after {self.generation}")
        for member in self.online.values():
            self._end(member.held(), "reset")
        self.generation, self.unassigned, self.future = generation, unassigned, future
        self.begins[generation] = dict(unassigned)
        self.begun_waiting = {name: set(ids) for name, ids in future.items()}
        self.online, self.stored, self.completed = {}, {}, []
        self._begun, self._waiting = [], {}

    def _on_AddReader(self, update: rg.AddReader, behind: int) -> None:
        if update.reader in self.online:
            self.problems.append(f"state log: {update.reader} came online twice, at {behind}")
        member = Membership(update.reader, behind, self.generation)
        self.members.append(member)
        self.online[update.reader], self.stored[update.reader] = member, {}

    def _on_RemoveReader(self, update: rg.RemoveReader, behind: int) -> None:
        if update.reader not in self.online:
            return
        member = self.online.pop(update.reader)
        final = {s: update.positions.get(s, at) for s, at in self.stored.pop(update.reader).items()}
        for tenure in member.held():
            tenure.end, tenure.how = final[tenure.segment], "removed"
        self.unassigned.update(final)
        for name in list(self._waiting):
            if update.reader in self._waiting[name][0]:
                self._reported(name, update.reader, final, by_itself=False)

    def _on_AcquireSegment(self, update: rg.AcquireSegment, behind: int) -> None:
        offset = self.unassigned.pop(update.segment)
        self.stored[update.reader][update.segment] = self.reported[update.segment] = offset
        self.online[update.reader].tenures.append(Tenure(update.segment, offset))
        begin = list(self.begins[self.generation])
        self.acquired.append((update.segment, list(self.completed), begin))

    def _on_ReleaseSegment(self, update: rg.ReleaseSegment, behind: int) -> None:
        del self.stored[update.reader][update.segment]
        self._end(self._tenures(update.reader, update.segment), "released", update.offset)
        self.unassigned[update.segment] = update.offset

    def _on_SegmentCompleted(self, update: rg.SegmentCompleted, behind: int) -> None:
        del self.stored[update.reader][update.segment]
        self._end(self._tenures(update.reader, update.segment), "completed")
        self.completed.append(update.segment)
        for name, ids in update.successors.items():
            self.future.setdefault(name, set(ids))
        done = parse_segment_name(update.segment)
        for name in list(self.future):
            its = parse_segment_name(name)
            if (its.scope, its.stream) == (done.scope, done.stream):
                self.future[name].discard(done.segment_id)
            if not self.future[name]:
                del self.future[name]
                self.unassigned[name] = 0

    def _on_UpdateDistanceToTail(self, update: rg.UpdateDistanceToTail, behind: int) -> None:
        self._report_read(update.reader, {key.segment: at for key, at in update.last_read_positions.items()})

    def _report_read(self, reader: str, positions: Mapping[str, int]) -> None:
        held = self.stored.get(reader, {})
        self.reported.update({segment: at for segment, at in positions.items() if segment in held})

    def _on_CreateCheckpoint(self, update: rg.CreateCheckpoint, behind: int) -> None:
        if self.online and update.checkpoint_id not in self._waiting:
            self._begun.append(update.checkpoint_id)
            self._waiting[update.checkpoint_id] = (set(self.online), dict(self.unassigned), False)

    def _on_ClearCheckpointsBefore(self, update: rg.ClearCheckpointsBefore, behind: int) -> None:
        if update.checkpoint_id in self._begun:
            self._drop(self._begun[: self._begun.index(update.checkpoint_id)])

    def _on_RemoveOutstandingCheckpoints(self, update: rg.RemoveOutstandingCheckpoints, behind: int) -> None:
        self._drop([name for name in self._waiting if "_SILENT_" not in name])

    def _drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._begun.remove(name)
            self._waiting.pop(name, None)

    def _on_CheckpointReader(self, update: rg.CheckpointReader, behind: int) -> None:
        held = self.stored[update.reader]
        member = self.online[update.reader]
        begins = {tenure.segment: tenure.begin for tenure in member.held()}
        member.reports.append((update.checkpoint_id, dict(update.positions), begins))
        self._report_read(update.reader, update.positions)
        if "_SILENT_" not in update.checkpoint_id and update.checkpoint_id in self._waiting:
            held.update({s: update.positions[s] for s in held if s in update.positions})
        if update.checkpoint_id in self._waiting:
            self._reported(update.checkpoint_id, update.reader, update.positions, by_itself=True)

    def _reported(self, name: str, reader: str, positions: Any, *, by_itself: bool) -> None:
        waiting, merged, some_did = self._waiting[name]
        waiting.discard(reader)
        merged.update(positions)
        self._waiting[name] = (waiting, merged, some_did or by_itself)
        if not waiting:
            del self._waiting[name]
            if some_did or by_itself:
                self.complete_checkpoints.append((name, dict(merged), list(self.completed)))

    def _tenures(self, reader: str, segment: str) -> list[Tenure]:
        return [t for t in self.online[reader].held() if t.segment == segment]

    def _end(self, tenures: Iterable[Tenure], how: str, end: int | None = None) -> None:
        for tenure in tenures:
            tenure.how, tenure.end = how, end
