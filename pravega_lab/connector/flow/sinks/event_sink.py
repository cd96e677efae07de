"""(f) At least once and best effort: the sink writes events as they arrive, without transactions.

It has the form of FLIP-191, with a writer and no committer (upstream ``PravegaEventSink``;
``FlinkPravegaWriter`` in its modes ATLEAST_ONCE and BEST_EFFORT). At least once: a subtask acknowledges a
checkpoint when all earlier events are durable, and events after the checkpoint are written again after a
failure. Best effort: a checkpoint does not wait for events. Events that the store refused are counted and
lost.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import Enum
from typing import Any

from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import RowEvents
from pravega_lab.connector.flow.metrics import Counters
from pravega_lab.connector.flow.sinks.transactional_sink import notable
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.elements import Watermark
from pravega_lab.engine.flow.sink.sinks import Sink, SinkContext, SinkWriter
from pravega_lab.errors import PravegaError

_log = logging.getLogger(__name__)


class Delivery(Enum):
    """The guarantee of a sink without transactions."""

    AT_LEAST_ONCE = "at-least-once"
    BEST_EFFORT = "best-effort"


class PravegaEventSink(Sink):
    """Writes rows to a stream, at least once or with best effort.

    ``counters`` are shared by the subtasks of this process.

    Args:
        stream: ``scope/stream``, or a name in the default scope.
        delivery: The guarantee. At least once needs checkpoints.
        propagates_watermarks: Note the watermark at each checkpoint, for readers' time windows.
    """

    def __init__(
        self,
        config: PravegaConfig,
        stream: str,
        *,
        events: RowEvents | None = None,
        delivery: Delivery = Delivery.AT_LEAST_ONCE,
        propagates_watermarks: bool = False,
    ) -> None:
        self.config, self.stream = config, config.resolve(stream)
        self.events, self.delivery = events or RowEvents(), delivery
        self.propagates_watermarks = propagates_watermarks
        self.counters = Counters(self.stream)

    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> SinkWriter:
        """Return the writer of one subtask. It has no state to restore."""
        return _EventWriter(self, context)


class _EventWriter(SinkWriter):
    """The writer of one subtask. With best effort, an error ends the client's writer, and a new one replaces
    it.
    """

    def __init__(self, sink: PravegaEventSink, context: SinkContext) -> None:
        self._sink = sink
        self._client = sink.config.client(f"{context.task_name} writer")
        self._stream = self._client.stream(sink.stream)
        self._writer = self._stream.writer()
        self._watermark_ms: int | None = None
        self._noted_ms: int | None = None

    async def write(self, batch: Batch) -> None:
        events, keys = self._sink.events.of(batch)
        counters = self._sink.counters
        try:
            await self._writer.write(list(events), None if keys is None else list(keys))
        except PravegaError as error:
            counters.num_records_out_errors += len(events)
            if self._sink.delivery is Delivery.AT_LEAST_ONCE:
                raise
            await self._replace_writer(error)
        else:
            counters.num_records_out += len(events)

    def write_watermark(self, watermark: Watermark) -> None:
        self._watermark_ms = notable(self._watermark_ms, watermark)

    async def flush(self, end_of_input: bool) -> None:
        if self._sink.delivery is Delivery.BEST_EFFORT and not end_of_input:
            return
        try:
            await self._writer.flush()
            await self._note()
        except PravegaError as error:
            if self._sink.delivery is Delivery.AT_LEAST_ONCE:
                raise
            await self._replace_writer(error)

    async def _note(self) -> None:
        if self._sink.propagates_watermarks and self._watermark_ms != self._noted_ms:
            assert self._watermark_ms is not None
            await self._writer.note_time(self._watermark_ms)
            self._noted_ms = self._watermark_ms

    async def _replace_writer(self, error: PravegaError) -> None:
        _log.warning("events for %s were lost, as best effort allows: %s", self._sink.stream, error)
        old, self._writer = self._writer, self._stream.writer()
        try:
            await old.close()
        except PravegaError:
            return  # the error that ended the writer is logged already

    async def close(self) -> None:
        try:
            await self._writer.close()
        except PravegaError as error:
            if self._sink.delivery is Delivery.AT_LEAST_ONCE:
                raise
            _log.warning("events for %s were lost, as best effort allows: %s", self._sink.stream, error)
        finally:
            await self._client.close()
