"""The writer, committer and global committer of a sink as operators. Between them, committables travel as
rows.

The committer commits the committables of checkpoint n when n is complete, if all that the writer announced
for n have arrived. Restored committables are committed again at once. Source: FLIP-143, FLIP-191; Flink's
`SinkWriterOperator`, `CommitterOperator`, `GlobalCommitterOperator`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from ..batch import Batch
from ..calling import value_of
from ..elements import MAX_TIMESTAMP_MS, CheckpointOptions, Watermark
from ..errors import JobError
from ..observer import SinkTrays
from ..operators.operator import Operator, RuntimeMode
from ..state import plain_values as plain
from ..state.handles import ListMode
from .sinks import CommitOutcome, CommitRequest, Committer, GlobalCommitter, Sink, SinkWriter
from .two_phase import SinkContextOf

END_OF_INPUT = MAX_TIMESTAMP_MS  # stands for the checkpoint after the last one
RETRY_MS = 1000
WRITER_STATE = "writer"
COMMITTABLES = "committables"
_log = logging.getLogger(__name__)


class CommitError(JobError):
    """Raised when a committer reports that a committable failed for an unknown reason."""


class SinkWriterOperator(Operator):
    """Write records. Before each barrier and at the end of the input, announce and send the committables."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._has_ended = False
        self._writer: SinkWriter

    async def initialize_state(self) -> None:
        """Create the writer from the restored state."""
        self._state = self.context.lists.of(WRITER_STATE, ListMode.SPLIT)
        made = self._sink.create_writer(SinkContextOf(self), list(self._state))
        self._writer = await value_of(made)
        self._tell(self.context.restored_checkpoint)

    def process_batch(self, batch: Batch, input: int) -> Any:
        """Write the records."""
        return self._writer.write(batch)

    def process_watermark(self, watermark: Watermark) -> None:
        """Pass the watermark to the writer and to the committers."""
        self._writer.write_watermark(watermark)
        self.context.output.watermark(watermark.timestamp_ms)

    async def prepare_snapshot(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Flush the writer, and send the committables of this checkpoint."""
        if not self._has_ended:
            await self._hand_out(checkpoint_id, end_of_input=False)

    async def finish(self) -> None:
        """Flush the writer, and send the last committables."""
        self._has_ended = True
        await self._hand_out(END_OF_INPUT, end_of_input=True)

    async def _hand_out(self, checkpoint_id: int, *, end_of_input: bool) -> None:
        await value_of(self._writer.flush(end_of_input))
        committables = list(await value_of(self._writer.prepare_commit()))
        row = {"checkpoint_id": checkpoint_id, "subtask": self.context.subtask.index}
        self.context.output.row({**row, "announced": len(committables), "committable": b""})
        for committable in committables:
            self.context.output.row({**row, "announced": -1, "committable": plain.to_bytes(committable)})
        self._tell(None if end_of_input else checkpoint_id)

    def _tell(self, checkpoint_id: int | None) -> None:
        """Report as open what the writer has written since the last checkpoint."""
        if not _has_committer(self._sink):
            return  # at-least-once: nothing is ever pre-committed
        since = "the start" if checkpoint_id is None else f"checkpoint {checkpoint_id}"
        names = () if self._has_ended else (f"since {since}",)
        who = (self.context.now_ms(), self.context.subtask, self.context.attempt, self.context.operator_id)
        self.context.observer.observe(SinkTrays(*who, names, (), 0))

    async def snapshot_state(self, checkpoint_id: int) -> None:
        """Store the writer's state."""
        self._state[:] = list(await value_of(self._writer.snapshot_state(checkpoint_id)))

    async def close(self) -> None:
        """Close the writer."""
        if hasattr(self, "_writer"):
            await value_of(self._writer.close())


def _has_committer(sink: Sink) -> bool:
    made = (type(sink).create_committer, type(sink).create_global_committer)
    return made != (Sink.create_committer, Sink.create_global_committer)


class _Collected:
    """The committables of one checkpoint from one writer."""

    def __init__(self) -> None:
        self.announced: int | None = None
        self.arrived = 0
        self.requests: list[CommitRequest] = []

    @property
    def is_complete(self) -> bool:
        return self.announced is not None and self.arrived >= self.announced


class _Collector:
    """The committables by checkpoint and writer, in order of arrival."""

    def __init__(self) -> None:
        self.by_origin: dict[tuple[int, int], _Collected] = {}

    def add(self, batch: Batch) -> None:
        for row in batch.rows:
            origin = (row["checkpoint_id"], row["subtask"])
            collected = self.by_origin.setdefault(origin, _Collected())
            if row["announced"] >= 0:
                collected.announced = row["announced"]
            else:
                collected.arrived += 1
                collected.requests.append(CommitRequest(plain.from_bytes(row["committable"])))

    def ready(self, checkpoint_id: int) -> list[_Collected]:
        """Return what may be committed when ``checkpoint_id`` is complete."""
        origins = sorted(origin for origin in self.by_origin if origin[0] <= checkpoint_id)
        return [self.by_origin[origin] for origin in origins if self.by_origin[origin].is_complete]

    def waits(self, checkpoint_id: int) -> bool:
        return any(origin[0] <= checkpoint_id for origin in self.by_origin)

    def forget_done(self) -> None:
        self.by_origin = {
            origin: collected
            for origin, collected in self.by_origin.items()
            if collected.requests or not collected.is_complete
        }

    def values(self) -> list[Any]:
        return [request.committable for c in self.by_origin.values() for request in c.requests]


def _tell_held(of: Operator, collector: _Collector, more: list[tuple[int, str]], committed: int) -> None:
    held = [(n, str(r.committable)) for (n, _), c in collector.by_origin.items() for r in c.requests]
    who = (of.context.now_ms(), of.context.subtask, of.context.attempt, of.context.operator_id)
    of.context.observer.observe(SinkTrays(*who, (), (*more, *held), committed))


class _LastCheckpoint:
    """Knows which checkpoints cover the committables that were sent at the end of the input.

    These are the checkpoints that an operator took after the end. An earlier checkpoint may complete later.
    The job may still go back to it, and write the last records again.
    """

    def __init__(self) -> None:
        self._has_ended = False
        self._first_id: int | None = None

    def end_input(self) -> None:
        """Note the end of the input."""
        self._has_ended = True

    def snapshot(self, checkpoint_id: int) -> None:
        """Note that the operator takes a checkpoint."""
        if self._has_ended and self._first_id is None:
            self._first_id = checkpoint_id

    def is_covered_by(self, checkpoint_id: int) -> bool:
        """Return whether the checkpoint has everything."""
        return self._first_id is not None and checkpoint_id >= self._first_id


class CommitterOperator(Operator):
    """Commit the committables of the writers."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._collector = _Collector()
        self._last_completed = -1
        self._last = _LastCheckpoint()
        self._committed = 0
        self._retry_is_scheduled = False
        self._committer: Committer

    async def initialize_state(self) -> None:
        """Create the committer, and take the restored committables."""
        made = await value_of(self._sink.create_committer(SinkContextOf(self)))
        assert made is not None
        self._committer = made
        self._state = self.context.lists.of(COMMITTABLES, ListMode.SPLIT)
        if self._state:
            restored = _Collected()
            restored.requests = [CommitRequest(value) for value in self._state]
            restored.announced = restored.arrived = len(restored.requests)
            self._collector.by_origin[-1, -1] = restored
            self._last_completed = max(self._last_completed, self.context.restored_checkpoint or -1)

    async def open(self) -> None:
        """Commit the restored committables."""
        await self._commit_up_to(self._last_completed)

    async def process_batch(self, batch: Batch, input: int) -> None:
        """Collect committables. Commit those of a checkpoint that is complete already."""
        self._collector.add(batch)
        self._tell()
        if self._collector.ready(self._last_completed):
            await self._commit_up_to(
                self._last_completed
            )  # the checkpoint of these was complete before they arrived

    async def end_input(self, input: int) -> None:
        """Commit everything if no checkpoint will do it."""
        self._last.end_input()
        if self.context.mode is RuntimeMode.BATCH or not self.context.is_checkpointing:
            await self._commit_all()

    async def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Commit what the checkpoint has, which is everything if it was taken after the end of the input."""
        self._last_completed = max(self._last_completed, checkpoint_id)
        if self._last.is_covered_by(checkpoint_id):
            await self._commit_all()
        else:
            await self._commit_up_to(checkpoint_id)

    async def _commit_all(self) -> None:
        """Commit until nothing is left to try again."""
        await self._commit_up_to(END_OF_INPUT)
        while self._collector.waits(END_OF_INPUT):
            await asyncio.sleep(RETRY_MS / 1000)
            await self._commit_up_to(END_OF_INPUT)

    async def _commit_up_to(self, checkpoint_id: int) -> None:
        for collected in self._collector.ready(checkpoint_id):
            if collected.requests:
                await value_of(self._committer.commit(collected.requests))
                left = [request for request in collected.requests if _is_left(request)]
                given_up = [
                    r for r in collected.requests if r.outcome is CommitOutcome.FAILED_WITH_KNOWN_REASON
                ]
                self._committed += len(collected.requests) - len(left) - len(given_up)
                collected.requests = left
        self._collector.forget_done()
        self._tell()
        waits = checkpoint_id != END_OF_INPUT and self._collector.waits(checkpoint_id)
        if waits and not self._retry_is_scheduled:
            self._retry_is_scheduled = True
            self.context.schedule(self.context.now_ms() + RETRY_MS, self._retry)

    async def _retry(self) -> None:
        self._retry_is_scheduled = False
        await self._commit_up_to(self._last_completed)

    def _tell(self) -> None:
        """Report the committables that are not committed as pre-committed."""
        _tell_held(self, self._collector, [], self._committed)

    def snapshot_state(self, checkpoint_id: int) -> None:
        """Store the committables that are not committed."""
        self._last.snapshot(checkpoint_id)
        self._state[:] = self._collector.values()

    async def close(self) -> None:
        """Close the committer."""
        if hasattr(self, "_committer"):
            await value_of(self._committer.close())


def _is_left(request: CommitRequest) -> bool:
    """Return whether the request must be tried again. Raise if the job must fail."""
    match request.outcome:
        case CommitOutcome.RETRY_LATER:
            request.retries += 1
            request.outcome = CommitOutcome.OK
            return True
        case CommitOutcome.FAILED_WITH_KNOWN_REASON:
            _log.error("committable %r was dropped: %s", request.committable, request.reason)
        case CommitOutcome.FAILED_WITH_UNKNOWN_REASON:
            raise CommitError(f"committable {request.committable!r} failed: {request.reason}")
    return False


class GlobalCommitterOperator(Operator):
    """Combine the committables of a checkpoint, of all writers, and commit them together.

    It runs in parallel with the committers.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._collector = _Collector()
        self._combined: list[Any] = []
        self._last_completed = -1
        self._last = _LastCheckpoint()
        self._committed = 0
        self._committer: GlobalCommitter

    async def initialize_state(self) -> None:
        """Create the committer, and filter the restored committables."""
        made = await value_of(self._sink.create_global_committer())
        assert made is not None
        self._committer = made
        self._state = self.context.lists.of(COMMITTABLES, ListMode.SPLIT)
        if self._state:
            self._combined = list(await value_of(self._committer.filter_recovered(list(self._state))))

    async def open(self) -> None:
        """Commit the restored committables."""
        await self._commit()

    def process_batch(self, batch: Batch, input: int) -> None:
        """Collect committables."""
        self._collector.add(batch)
        self._tell()

    async def end_input(self, input: int) -> None:
        """Commit everything if no checkpoint will do it."""
        self._last.end_input()
        if self.context.mode is RuntimeMode.BATCH or not self.context.is_checkpointing:
            await self._complete(END_OF_INPUT)

    def snapshot_state(self, checkpoint_id: int) -> None:
        """Store the combined committables."""
        self._last.snapshot(checkpoint_id)
        open_values = self._collector.values()
        combined = [self._committer.combine(open_values)] if open_values else []
        self._state[:] = [*self._combined, *combined]

    async def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Combine and commit what the checkpoint has, which is everything if it was taken after the end of
        the input.
        """
        self._last_completed = max(self._last_completed, checkpoint_id)
        await self._complete(END_OF_INPUT if self._last.is_covered_by(checkpoint_id) else checkpoint_id)

    async def _complete(self, checkpoint_id: int) -> None:
        values = [r.committable for c in self._collector.ready(checkpoint_id) for r in c.requests]
        for collected in self._collector.ready(checkpoint_id):
            collected.requests = []
        self._collector.forget_done()
        if values:
            self._combined.append(self._committer.combine(values))
        await self._commit()
        if checkpoint_id == END_OF_INPUT:
            while self._combined:
                await asyncio.sleep(RETRY_MS / 1000)
                await self._commit()
            await value_of(self._committer.end_of_input())

    async def _commit(self) -> None:
        if self._combined:
            given = len(self._combined)
            self._combined = list(await value_of(self._committer.commit(self._combined)) or [])
            self._committed += given - len(self._combined)
        self._tell()

    def _tell(self) -> None:
        """Report combined values, which belong to a completed checkpoint, and what is not combined yet."""
        waits = [(self._last_completed, str(value)) for value in self._combined]
        _tell_held(self, self._collector, waits, self._committed)

    async def close(self) -> None:
        """Close the committer."""
        if hasattr(self, "_committer"):
            await value_of(self._committer.close())
