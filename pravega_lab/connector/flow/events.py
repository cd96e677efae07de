"""The conversion between events of a stream, which are bytes, and rows of a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.errors import BadInputError
from pravega_lab.portable.columns import pa
from pravega_lab.protocol.names import split_scoped_name


@dataclass(frozen=True)
class EventRows:
    """How events become rows.

    Without ``deserialize`` a row has the columns ``event, scope, stream, segment_id, offset``, as in the
    Spark connector, and single events are not touched. With ``deserialize`` a row is the value that it
    returns for the bytes of an event, and ``with_metadata`` adds the four other columns. ``timestamp`` gives
    event times in ms, as a column or a function of the row. It is for sources that emit watermarks themselves
    (`GroupSettings.watermark_interval_ms`).
    """

    deserialize: Callable[[bytes], Row] | None = None
    with_metadata: bool = False
    timestamp: str | Callable[[Row], int] | None = None

    def batch(self, scoped_stream: str, events: pa.RecordBatch) -> Batch:
        """Return the rows of a client's batch ``event, segment_id, offset``, in order.

        Raises:
            BadInputError: The column of event times is missing.
        """
        return WatermarkStrategy(self.timestamp).assign(self._rows(scoped_stream, events))

    def _rows(self, scoped_stream: str, events: pa.RecordBatch) -> Batch:
        scope, stream = split_scoped_name(scoped_stream)
        if self.deserialize is None:
            n = len(events)
            columns = [events.column(0), pa.array([scope] * n), pa.array([stream] * n)]
            columns += [events.column(1), events.column(2)]
            names = ["event", "scope", "stream", "segment_id", "offset"]
            return Batch.of_arrow(pa.RecordBatch.from_arrays(columns, names=names))
        rows = [self.deserialize(event) for event in events.column(0).to_pylist()]
        if self.with_metadata:
            places = zip(events.column(1).to_pylist(), events.column(2).to_pylist(), strict=True)
            about: list[Row] = [
                {"scope": scope, "stream": stream, "segment_id": segment, "offset": offset}
                for segment, offset in places
            ]
            rows = [row | place for row, place in zip(rows, about, strict=True)]
        return Batch.of_rows(rows)


@dataclass(frozen=True)
class RowEvents:
    """How rows become events, and which routing key each has.

    ``serialize`` returns the bytes of a row; with None they are in column ``event``. ``routing_key`` is a
    column or a function of the row; with None events are routed at random.
    """

    serialize: Callable[[Row], bytes] | None = None
    routing_key: str | Callable[[Row], str] | None = None

    def of(self, batch: Batch) -> tuple[Sequence[bytes], Sequence[str] | None]:
        """Return the events of a batch and their keys (None for random routing), in order.

        Raises:
            BadInputError: A row lacks the column.
        """
        rows = batch.rows
        serialize = self.serialize or (lambda row: self._column(row, "event"))
        return [serialize(row) for row in rows], self._keys(rows)

    def _keys(self, rows: Sequence[Row]) -> Sequence[str] | None:
        key = self.routing_key
        if key is None:
            return None
        if isinstance(key, str):
            return [str(self._column(row, key)) for row in rows]
        return [key(row) for row in rows]

    def _column(self, row: Row, name: str) -> Any:
        if name not in row:
            raise BadInputError(f"a row has no column {name!r} to write; it has {list(row)}")
        return row[name]
