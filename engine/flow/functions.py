"""What users write: functions of one record, with keyed state, timers and side outputs.

Plain callables do for map, filter and flat_map. Everything here is synchronous and is called for one
record at a time; exceptions become a `UserFunctionError` that names the subtask and the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pravega_lab.engine.flow.batch import Row, RowKind
from pravega_lab.engine.flow.handles import ListMode
from pravega_lab.engine.flow.keys import Key
from pravega_lab.engine.flow.operator import OperatorContext
from pravega_lab.engine.flow.rolling import Ints, integers
from pravega_lab.engine.flow.state import (
    BroadcastState,
    KeyedListState,
    MapState,
    ReducingState,
    ValueState,
)

MapFunction = Callable[[Row], Row]
FilterFunction = Callable[[Row], bool]
FlatMapFunction = Callable[[Row], Iterable[Row]]


class FunctionContext:
    """Given to every call. ``timestamp_ms`` and ``kind`` are of the record (or the time of the timer)."""

    def __init__(self, operator: OperatorContext) -> None:
        self._operator = operator
        self.timestamp_ms: int | None = None
        self.kind = RowKind.INSERT

    @property
    def subtask_index(self) -> int:
        return self._operator.subtask.index

    @property
    def parallelism(self) -> int:
        return self._operator.parallelism

    def now_ms(self) -> int:
        """Processing time."""
        return self._operator.now_ms()

    @property
    def watermark_ms(self) -> int:
        """Event time has come this far."""
        return self._operator.timers.watermark_ms

    def emit(
        self,
        row: Row,
        *,
        timestamp_ms: int | None = None,
        kind: RowKind = RowKind.INSERT,
        tag: str | None = None,
    ) -> None:
        """``timestamp_ms`` None: that of the record or timer at hand. ``tag``: into a side output."""
        at_ms = self.timestamp_ms if timestamp_ms is None else timestamp_ms
        self._operator.output.row(row, at_ms, kind, tag)

    # -- operator state ------------------------------------------------------------------------------------

    def list_state(self, name: str) -> list[Any]:
        """Shared out among the subtasks on a restore. Change it in place."""
        return self._operator.lists.of(name, ListMode.SPLIT)

    def union_list_state(self, name: str) -> list[Any]:
        """All elements of all subtasks go to every subtask on a restore."""
        return self._operator.lists.of(name, ListMode.UNION)

    def broadcast_state(self, name: str) -> BroadcastState:
        return BroadcastState(self._operator.lists, name)


class KeyedContext(FunctionContext):
    """With the key of the record or timer, its state and its timers."""

    @property
    def key(self) -> Key:
        return self._operator.keyed.key

    def value_state(self, name: str, default: Any = None) -> ValueState:
        return ValueState(self._operator.keyed, name, default)

    def keyed_list_state(self, name: str) -> KeyedListState:
        return KeyedListState(self._operator.keyed, name)

    def map_state(self, name: str) -> MapState:
        return MapState(self._operator.keyed, name)

    def reducing_state(self, name: str, reduce: Callable[[Any, Any], Any]) -> ReducingState:
        return ReducingState(self._operator.keyed, name, reduce)

    def register_event_timer(self, at_ms: int) -> None:
        """Fires when the watermark passes it; at once if it has."""
        self._operator.timers.register_event_timer(at_ms)

    def register_processing_timer(self, at_ms: int) -> None:
        self._operator.timers.register_processing_timer(at_ms)

    def delete_event_timer(self, at_ms: int) -> None:
        self._operator.timers.delete_event_timer(at_ms)

    def delete_processing_timer(self, at_ms: int) -> None:
        self._operator.timers.delete_processing_timer(at_ms)


class ProcessFunction:
    """Any number of rows for each. A copy is made for each subtask."""

    def open(self, context: FunctionContext) -> None:
        """Before the first record; operator state is there."""
        return

    def process(self, row: Row, context: FunctionContext) -> None:
        raise NotImplementedError

    def end_input(self, context: FunctionContext) -> None:
        """All records were processed; not called when a job is stopped without drain."""
        return

    def close(self) -> None:
        return


class KeyedProcessFunction:
    """As `ProcessFunction`, with keyed state and timers. Take states in `open`, use them where there is a
    key."""

    def open(self, context: KeyedContext) -> None:
        return

    def process(self, row: Row, context: KeyedContext) -> None:
        raise NotImplementedError

    def on_timer(self, at_ms: int, context: KeyedContext) -> None:
        """``context.timestamp_ms`` is ``at_ms`` for an event-time timer."""
        return

    def close(self) -> None:
        return


class CoProcessFunction:
    """Two connected inputs; keyed state and timers if both are keyed."""

    def open(self, context: KeyedContext) -> None:
        return

    def process_1(self, row: Row, context: KeyedContext) -> None:
        raise NotImplementedError

    def process_2(self, row: Row, context: KeyedContext) -> None:
        raise NotImplementedError

    def on_timer(self, at_ms: int, context: KeyedContext) -> None:
        return

    def end_input_1(self, context: KeyedContext) -> None:
        return

    def end_input_2(self, context: KeyedContext) -> None:
        return

    def close(self) -> None:
        return


class BroadcastProcessFunction:
    """A stream (keyed or not) beside a broadcast one, whose records alone change broadcast state."""

    def open(self, context: KeyedContext) -> None:
        return

    def process(self, row: Row, context: KeyedContext) -> None:
        raise NotImplementedError

    def process_broadcast(self, row: Row, context: KeyedContext) -> None:
        raise NotImplementedError

    def on_timer(self, at_ms: int, context: KeyedContext) -> None:
        return

    def close(self) -> None:
        return


@dataclass(frozen=True)
class AggregateFunction:
    """An accumulator of plain values per key (and window). ``merge`` is for session windows, ``retract`` for
    changelogs.

    ``increments`` may be given where the accumulator is its own result and ``add`` adds an int to it: the
    ints of all rows of a batch, or None where there are none. It saves the loop over records.
    """

    create: Callable[[], Any]
    add: Callable[[Any, Row], Any]
    result: Callable[[Any], Any]
    merge: Callable[[Any, Any], Any] | None = None
    retract: Callable[[Any, Row], Any] | None = None
    increments: Callable[[pa.RecordBatch], Ints | None] | None = None


def count() -> AggregateFunction:
    """How many rows."""
    return AggregateFunction(
        lambda: 0,
        lambda n, _row: n + 1,
        lambda n: n,
        lambda a, b: a + b,
        lambda n, _row: n - 1,
        lambda batch: np.ones(batch.num_rows, dtype=np.int64),
    )


def total(column: str) -> AggregateFunction:
    """The sum of a column."""
    return AggregateFunction(
        lambda: 0,
        lambda n, row: n + row[column],
        lambda n: n,
        lambda a, b: a + b,
        lambda n, row: n - row[column],
        lambda batch: integers(batch.column(column)) if column in batch.schema.names else None,
    )


def mean(column: str) -> AggregateFunction:
    """The mean of a column; None of nothing."""
    return AggregateFunction(
        lambda: (0, 0),
        lambda acc, row: (acc[0] + row[column], acc[1] + 1),
        lambda acc: acc[0] / acc[1] if acc[1] else None,
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lambda acc, row: (acc[0] - row[column], acc[1] - 1),
    )


def highest(column: str) -> AggregateFunction:
    """The maximum of a column. It cannot be retracted from."""
    return AggregateFunction(
        lambda: None,
        lambda best, row: row[column] if best is None else max(best, row[column]),
        lambda best: best,
        lambda a, b: b if a is None else a if b is None else max(a, b),
    )
