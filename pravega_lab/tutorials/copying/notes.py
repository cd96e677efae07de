"""What a job's checkpoints stored of its source, and where their barriers passed; for `copying.copy_job`.

Positions are noted right after the source, in its own chain. What was noted when a barrier arrives is what
lies before the barrier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pravega_lab.client.reader_group.values import Checkpoint, Position
from pravega_lab.connector.flow.reader_group.reader_slots import SlotSerializer
from pravega_lab.connector.flow.segments.splits import SplitSerializer, SplitsSerializer
from pravega_lab.connector.simulation.forms import Form
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint import metadata
from pravega_lab.engine.flow.checkpoint.handles import CompletedCheckpoint
from pravega_lab.engine.flow.checkpoint.storage import METADATA
from pravega_lab.engine.flow.files import MemoryFiles, join
from pravega_lab.engine.flow.observer import Aligned, CheckpointCompleted, NoObserver, Observer, Restored
from pravega_lab.engine.flow.operators.functions import FunctionContext, ProcessFunction
from pravega_lab.engine.flow.source.source_operator import READER_STATE
from pravega_lab.engine.flow.state import plain_values as plain
from pravega_lab.protocol.names import parse_segment_name

SOURCE = "source"
HOOK, ENUMERATOR = "master hook", "enumerator"
KEEPS_IN_ENUMERATOR = ("b2", "b3", "c")  # (b1) stores nothing there, (d) only which partitions it assigned
Where = dict[int, int]  # segment id: offset of the next event, -1 where it was read to its end


@dataclass(frozen=True)
class Taken:
    """A completed checkpoint. ``kept`` says who stored which positions.

    ``passed`` is the first byte after its barrier in each segment that was read since the job started or went
    back.
    """

    checkpoint_id: int
    at_ms: int
    kept: dict[str, Where]
    passed: Where


class Notes(ProcessFunction, Observer):
    """Follows the source in every subtask, and observes the job; all copies are this one object.

    ``then`` observes, too. The operator takes ``segment_id``, ``offset`` and ``bytes`` (in the segment) of a
    row, and emits number, key and place.

    Args:
        form: How the job reads.
        files: Where its checkpoints are.
    """

    def __init__(self, form: Form, files: MemoryFiles) -> None:
        self._form, self._files = form, files
        self.then: Observer = NoObserver()
        self._reached: dict[int, Where] = {}  # by subtask
        self._barriers: dict[int, dict[int, Where]] = {}  # by checkpoint and subtask
        self.taken: dict[int, Taken] = {}
        self.back_to: list[int | None] = []  # the checkpoint of each start
        self.read_on_at: Where = {}  # of each segment, since the last start

    def __deepcopy__(self, memo: dict[int, Any]) -> Notes:
        return self

    # -- after the source ----------------------------------------------------------------------------------

    def process(self, row: Row, context: FunctionContext) -> None:
        segment, offset = row["segment_id"], row["offset"]
        self._reached.setdefault(context.subtask_index, {})[segment] = offset + row["bytes"]
        self.read_on_at[segment] = min(offset, self.read_on_at.get(segment, offset))
        context.emit({"n": row["n"], "k": row["k"], "segment_id": segment, "offset": offset})

    # -- observing -----------------------------------------------------------------------------------------

    def observe(self, observation: Any) -> None:
        match observation:
            case Aligned(subtask=subtask, checkpoint_id=number) if subtask.vertex.startswith(SOURCE):
                reached = dict(self._reached.get(subtask.index, {}))
                self._barriers.setdefault(number, {})[subtask.index] = reached
            case CheckpointCompleted(at_ms=at_ms, checkpoint_id=number, path=path):
                self.taken[number] = self._take(number, at_ms, path)
            case Restored(checkpoint_id=back_to):
                self.back_to.append(back_to)
                self._reached, self.read_on_at = {}, {}
        self.then.observe(observation)

    def _take(self, number: int, at_ms: int, path: str) -> Taken:
        passed: Where = {}
        for reached in self._barriers.get(number, {}).values():
            for segment, behind in reached.items():
                passed[segment] = max(behind, passed.get(segment, 0))
        data = self._files.data
        checkpoint = metadata.decode(data[join(path, METADATA)], path)
        return Taken(number, at_ms, dict(kept_by(self._form, checkpoint, data)), passed)


def kept_by(
    form: Form, checkpoint: CompletedCheckpoint, data: Mapping[str, bytes]
) -> Iterator[tuple[str, Where]]:
    """Return who stored which positions of the source; ``data`` are the checkpoint's files by path."""
    for hook in checkpoint.master.values():
        yield HOOK, _of_group(hook.data)
    source = checkpoint.operators.get(SOURCE)
    if source is None:
        return
    if form.letter in KEEPS_IN_ENUMERATOR and source.coordinator:
        version, state = plain.from_bytes(source.coordinator)
        yield ENUMERATOR, _of_splits(version, state) if form.letter == "c" else _of_group(state)
    for index, subtask in sorted(source.subtasks.items()):
        elements = subtask.lists[READER_STATE].elements if READER_STATE in subtask.lists else ()
        blobs = (plain.from_bytes(data[b.path][b.offset : b.offset + b.length]) for b in elements)
        where: Where = {}
        for version, split in blobs:
            where |= _of_slot(version, split) if form.has_group else _of_split(version, split)
        if where:
            yield f"task {index}", where


def _of_group(data: bytes) -> Where:
    cuts = Checkpoint.from_bytes(data).stream_cuts.values()
    return {segment: offset for cut in cuts for segment, offset in cut.positions.items()}


def _of_splits(version: int, data: bytes) -> Where:
    return {split.segment_id: split.offset for split in SplitsSerializer().from_bytes(version, data)}


def _of_split(version: int, data: bytes) -> Where:
    split = SplitSerializer().from_bytes(version, data)
    return {split.segment_id: split.offset}


def _of_slot(version: int, data: bytes) -> Where:
    position = SlotSerializer().from_bytes(version, data).position
    if position is None:
        return {}
    named = Position.from_bytes(position).segments
    return {parse_segment_name(name).segment_id: offset for name, offset in named.items()}
