"""`ExternalLog`: a system with its own checkpoints, like a reader group, and two sources that read it.

It has partitions of rows, which readers share. Each reader places a checkpoint of the system independently,
at its next read. `HookSource` is the legacy form with a master hook. `InducedSource` is the FLIP-27 form,
whose enumerator asks for the checkpoint. Positions are only in the external system and in its checkpoints,
never in the state of readers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pravega_lab.errors import PravegaError
from pravega_lab.portable.waiting import wait_for

from ...flow.batch import Batch, Row
from ...flow.source.master_hook import MasterHook
from ...flow.source.sources import (
    Boundedness,
    ExternallyInducedSource,
    ExternallyInducedSourceReader,
    InputStatus,
    ReaderContext,
    ReaderOutput,
    Source,
    SourceContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from ...flow.state.plain_values import PlainSerializer

Positions = dict[int, int]


class ReaderOfflineError(PravegaError):
    """Raised when a reader from before a reset of the system reads."""


class ExternalLog:
    """The external system. ``positions`` has how far each partition was delivered."""

    def __init__(self, rows: Sequence[Row], partitions: int) -> None:
        self.partitions = [list(rows[n::partitions]) for n in range(partitions)]
        self.positions: Positions = dict.fromkeys(range(partitions), 0)
        self.generation = 0
        self._readers: dict[int, list[int]] = {}
        self._open: dict[int, tuple[Positions, dict[int, None], asyncio.Future[Positions]]] = {}

    def reset(self, positions: Positions | None, readers: int) -> None:
        """Go back to a checkpoint or to the beginning. All earlier readers are offline now."""
        self.generation += 1
        self.positions = dict(positions) if positions else dict.fromkeys(range(len(self.partitions)), 0)
        self._readers = {n: [p for p in self.positions if p % readers == n] for n in range(readers)}
        for _, _, future in self._open.values():
            future.cancel()
        self._open.clear()

    def checkpoint(self, number: int) -> asyncio.Future[Positions]:
        """Ask every reader to place a checkpoint at its next read. The future is done when all have."""
        future: asyncio.Future[Positions] = asyncio.get_running_loop().create_future()
        self._open[number] = ({}, dict.fromkeys(self._readers), future)
        return future

    @property
    def is_exhausted(self) -> bool:
        """Whether every row was delivered."""
        return all(self.positions[n] == len(rows) for n, rows in enumerate(self.partitions))

    def read(self, reader: int, generation: int, rows_max: int) -> tuple[list[Row], int | None]:
        """Return rows, or no rows and the number of a checkpoint to place here.

        Raises:
            ReaderOfflineError: The log was reset since the reader began.
        """
        if generation != self.generation:
            raise ReaderOfflineError(f"reader {reader} is offline: the log was reset")
        for number, (positions, waiting, future) in self._open.items():
            if reader in waiting:
                del waiting[reader]
                positions.update({p: self.positions[p] for p in self._readers[reader]})
                if not waiting and not future.done():
                    future.set_result(positions)
                return [], number
        for partition in self._readers[reader]:
            at = self.positions[partition]
            rows = self.rows_of(partition, at, rows_max)
            if rows:
                self.positions[partition] = at + len(rows)
                return rows, None
        return [], None

    def rows_of(self, partition: int, at: int, rows_max: int) -> list[Row]:
        """Return the rows of a partition from a position on."""
        return self.partitions[partition][at : at + rows_max]


class LogHook(MasterHook):
    """Takes a checkpoint of the external system with every job checkpoint."""

    def __init__(self, log: ExternalLog, readers: int) -> None:
        self._log, self._readers = log, readers

    @property
    def identifier(self) -> str:
        return "external-log"

    def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int) -> asyncio.Future[Positions]:
        return self._log.checkpoint(checkpoint_id)

    def serializer(self) -> PlainSerializer:
        return PlainSerializer()

    def restore_checkpoint(self, checkpoint_id: int, data: Positions | None) -> None:
        self._log.reset(data, self._readers)

    def reset(self) -> None:
        self._log.reset(None, self._readers)


class HookSource(ExternallyInducedSource):
    """Reads the external system in the legacy form."""

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def __init__(self, log: ExternalLog, readers: int, rows_max: int, pause_s: float) -> None:
        self._log, self._readers, self._rows_max, self._pause_s = log, readers, rows_max, pause_s
        self._cancelled = False

    def __deepcopy__(self, memo: dict[int, Any]) -> HookSource:
        return HookSource(self._log, self._readers, self._rows_max, self._pause_s)

    def create_master_hook(self) -> LogHook:
        return LogHook(self._log, self._readers)

    async def open(self, context: SourceContext) -> None:
        self._generation = self._log.generation

    async def run(self, context: SourceContext) -> None:
        while not self._cancelled:
            rows, marker = self._log.read(context.subtask_index, self._generation, self._rows_max)
            if marker is not None:
                await self.trigger(marker)
            elif rows:
                await context.collect(Batch.of_rows(rows))
            await asyncio.sleep(self._pause_s)

    def cancel(self) -> None:
        self._cancelled = True


@dataclass(frozen=True)
class ReaderSlot:
    """A logical split: the right to run a reader, without a position."""

    split_id: str


class _SlotSerializer:
    version = 1

    def to_bytes(self, value: ReaderSlot) -> bytes:
        return value.split_id.encode()

    def from_bytes(self, version: int, data: bytes) -> ReaderSlot:
        return ReaderSlot(data.decode())


class InducedEnumerator(SplitEnumerator[ReaderSlot, Positions]):
    """Takes a checkpoint of the external system in `snapshot_state`, and waits for it there."""

    def __init__(
        self, log: ExternalLog, context: SplitEnumeratorContext[ReaderSlot], restored: Positions | None
    ) -> None:
        self._log, self._context, self._restored = log, context, restored
        self._known: dict[int, None] = {}

    def start(self) -> None:
        self._log.reset(self._restored, self._context.current_parallelism)

    def add_reader(self, subtask: int) -> None:
        # detected here, because the tracker forgets splits of completed checkpoints and does not return them
        if subtask in self._known:
            raise PravegaError("one reader cannot be rewound alone: triggering a global failure")
        self._known[subtask] = None
        self._context.assign_splits({subtask: [ReaderSlot(f"reader-{subtask}")]})

    def add_splits_back(self, splits: Sequence[ReaderSlot], subtask: int) -> None:
        raise PravegaError("one reader cannot be rewound alone: triggering a global failure")

    async def snapshot_state(self, checkpoint_id: int) -> Positions:
        return await wait_for(self._log.checkpoint(checkpoint_id), 5)


class InducedReader(ExternallyInducedSourceReader[ReaderSlot]):
    """Reads in the FLIP-27 form of FLINK-20270."""

    def __init__(self, log: ExternalLog, context: ReaderContext, rows_max: int, pause_s: float) -> None:
        self._log, self._context = log, context
        self._rows_max, self._pause_s = rows_max, pause_s
        self._generation: int | None = None
        self._marker: int | None = None

    def add_splits(self, splits: Sequence[ReaderSlot]) -> None:
        self._generation = self._log.generation

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        if self._generation is None:
            return InputStatus.NOTHING_AVAILABLE
        index = self._context.subtask_index
        rows, marker = self._log.read(index, self._generation, self._rows_max)
        if marker is not None:
            self._marker = marker
        elif rows:
            output.emit(Batch.of_rows(rows))
        return InputStatus.NOTHING_AVAILABLE

    async def available(self) -> None:
        await asyncio.sleep(self._pause_s)

    def should_trigger_checkpoint(self) -> int | None:
        marker, self._marker = self._marker, None
        return marker


class InducedSource(Source[ReaderSlot, Positions]):
    """Reads the external system in the FLIP-27 form. Unbounded, like the Pravega source."""

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def __init__(self, log: ExternalLog, rows_max: int, pause_s: float) -> None:
        self._log, self._rows_max, self._pause_s = log, rows_max, pause_s

    def create_enumerator(self, context: SplitEnumeratorContext[ReaderSlot]) -> InducedEnumerator:
        return InducedEnumerator(self._log, context, None)

    def restore_enumerator(
        self, context: SplitEnumeratorContext[ReaderSlot], checkpoint: Positions
    ) -> InducedEnumerator:
        return InducedEnumerator(self._log, context, checkpoint)

    def create_reader(self, context: ReaderContext) -> InducedReader:
        return InducedReader(self._log, context, self._rows_max, self._pause_s)

    def split_serializer(self) -> Any:
        return _SlotSerializer()

    def enumerator_serializer(self) -> Any:
        return PlainSerializer()
