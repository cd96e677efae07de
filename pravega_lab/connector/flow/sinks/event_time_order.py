"""(f) Event-time ordered writing: the rows of a routing key are written in the order of their timestamps.

Source: ``EventTimeOrderingFunction``, ``writeToPravegaInEventTimeOrder`` of flink-connectors.
"""

from __future__ import annotations

from pravega_lab.connector.flow.sinks.transactional_sink import PravegaTransactionalSink, PravegaWriter
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.graph.stream import DataStream
from pravega_lab.engine.flow.operators.functions import KeyedContext, KeyedProcessFunction
from pravega_lab.errors import BadInputError

ROWS, FIRED = "rows-by-time", "fired"


class EventTimeOrder(KeyedProcessFunction):
    """Keeps a key's rows until the watermark passes them, and emits them in the order of their timestamps.

    A row without timestamp is emitted at once. A row that is not later than the last emitted row of its key
    is dropped, because it is too late to put it in order.
    """

    def process(self, row: Row, context: KeyedContext) -> None:
        """Keep the row, emit it, or drop it."""
        at_ms = context.timestamp_ms
        if at_ms is None:
            context.emit(row)
            return
        fired = context.value_state(FIRED).get()
        if fired is not None and at_ms <= fired:
            return
        rows = context.map_state(ROWS)
        rows.put(at_ms, [*(rows.get(at_ms) or []), row])
        context.register_event_timer(at_ms)

    def on_timer(self, at_ms: int, context: KeyedContext) -> None:
        """Emit the rows of time ``at_ms``."""
        rows = context.map_state(ROWS)
        for row in rows.get(at_ms) or []:
            context.emit(row, timestamp_ms=at_ms)
        rows.remove(at_ms)
        context.value_state(FIRED).update(at_ms)


def write_in_event_time_order(
    rows: DataStream, sink: PravegaWriter | PravegaTransactionalSink, *, uid: str | None = None
) -> DataStream:
    """Order ``rows`` by time per routing key of the sink, write them, and return the written stream.

    The parallelism is that of ``rows``.

    Raises:
        BadInputError: The sink has no routing key.
    """
    key = sink.events.routing_key
    if key is None:
        raise BadInputError("event-time order is per routing key: give the sink RowEvents(routing_key=...)")
    ordered = rows.key_by(key).process(EventTimeOrder(), name="event-time order")
    if uid is not None:
        ordered.uid(f"{uid}-order")
    return ordered.forward().sink_to(sink, uid=uid)
