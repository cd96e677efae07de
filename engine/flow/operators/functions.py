"""Functions that users write: they process one record at a time, with keyed state, timers and side outputs.

Plain callables are enough for map, filter and flat_map. Everything here is synchronous. An exception becomes
a `UserFunctionError`, which names the subtask and the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.portable.columns import np, pa

from ..batch import Row, RowKind
from ..elements import MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS
from ..state.handles import ListMode
from ..state.keys import Key
from ..state.state import BroadcastState, KeyedListState, MapState, ReducingState, ValueState
from .operator import OperatorContext
from .rolling import Ints, integers

MapFunction = Callable[[Row], Row]
FilterFunction = Callable[[Row], bool]
FlatMapFunction = Callable[[Row], Iterable[Row]]


class FunctionContext:
    """A context offers the output, the time and the state of an operator to a user function.

    ``timestamp_ms`` and ``kind`` are those of the record. For a timer, ``timestamp_ms`` is the time of the
    timer.
    """

    def __init__(self, operator: OperatorContext) -> None:
        self._operator = operator
        self.timestamp_ms: int | None = None
        self.kind = RowKind.INSERT
        self._broadcast: dict[str, BroadcastState] = {}

    @property
    def subtask_index(self) -> int:
        """Return the index of the subtask, from 0."""
        return self._operator.subtask.index

    @property
    def parallelism(self) -> int:
        """Return the number of subtasks."""
        return self._operator.parallelism

    def now_ms(self) -> int:
        """Return the processing time in ms."""
        return self._operator.now_ms()

    @property
    def watermark_ms(self) -> int:
        """Return the current event time of the operator in ms."""
        return self._operator.timers.watermark_ms

    def emit(
        self,
        row: Row,
        *,
        timestamp_ms: int | None = None,
        kind: RowKind = RowKind.INSERT,
        tag: str | None = None,
    ) -> None:
        """Emit a row into the main output, or into the side output ``tag``.

        The default of ``timestamp_ms`` is the current one.
        """
        at_ms = self.timestamp_ms if timestamp_ms is None else timestamp_ms
        self._operator.output.row(row, at_ms, kind, tag)

    # -- operator state ------------------------------------------------------------------------------------

    def list_state(self, name: str) -> list[Any]:
        """Return a list of which a restore gives each subtask a part. Change it in place."""
        return self._operator.lists.of(name, ListMode.SPLIT)

    def union_list_state(self, name: str) -> list[Any]:
        """Return a list of which a restore gives each subtask all elements of all subtasks.

        Change it in place.
        """
        return self._operator.lists.of(name, ListMode.UNION)

    def broadcast_state(self, name: str) -> BroadcastState:
        """Return a dict that is equal in all subtasks. Change it only for broadcast records."""
        if name not in self._broadcast:
            self._broadcast[name] = BroadcastState(self._operator.lists, name)
        return self._broadcast[name]


class KeyedContext(FunctionContext):
    """A keyed context also offers the key of the record or timer, and its state and timers.

    A name belongs to one kind of keyed state. Asking for it as another kind raises `IllegalStateError`.
    """

    @property
    def key(self) -> Key:
        """Return the key of the record or timer that is being processed."""
        return self._operator.keyed.key

    def value_state(self, name: str, default: Any = None) -> ValueState:
        """Return the state ``name`` with one value for each key.

        A key without a value gets a copy of ``default``.
        """
        return ValueState(self._operator.keyed, name, default)

    def keyed_list_state(self, name: str) -> KeyedListState:
        """Return the state ``name`` with a list for each key."""
        return KeyedListState(self._operator.keyed, name)

    def map_state(self, name: str) -> MapState:
        """Return the state ``name`` with a dict for each key."""
        return MapState(self._operator.keyed, name)

    def reducing_state(self, name: str, reduce: Callable[[Any, Any], Any]) -> ReducingState:
        """Return the state ``name``, which combines the values added for a key by ``reduce(old, new)``."""
        return ReducingState(self._operator.keyed, name, reduce)

    def register_event_timer(self, at_ms: int) -> None:
        """Call ``on_timer`` for this key when the watermark passes ``at_ms``.

        An overdue timer fires with the next watermark.

        Raises:
            BadInputError: no watermark ever passes ``at_ms``.
        """
        _check_time(at_ms)
        self._operator.timers.register_event_timer(at_ms)

    def register_processing_timer(self, at_ms: int) -> None:
        """Call ``on_timer`` for this key at ``at_ms`` of the clock.

        Raises:
            BadInputError: ``at_ms`` is no time.
        """
        _check_time(at_ms)
        self._operator.timers.register_processing_timer(at_ms)

    def delete_event_timer(self, at_ms: int) -> None:
        """Delete the event-time timer of this key at ``at_ms`` if there is one."""
        self._operator.timers.delete_event_timer(at_ms)

    def delete_processing_timer(self, at_ms: int) -> None:
        """Delete the processing-time timer of this key at ``at_ms`` if there is one."""
        self._operator.timers.delete_processing_timer(at_ms)


def _check_time(at_ms: int) -> None:
    if not MIN_TIMESTAMP_MS <= at_ms <= MAX_TIMESTAMP_MS:
        raise BadInputError(f"a timer at {at_ms!r} ms never fires: its time is between -2**63 and 2**63 - 1")


class ProcessFunction:
    """A process function emits any number of rows for each record. Each subtask gets a copy of it."""

    def open(self, context: FunctionContext) -> None:
        """Prepare for the first record. Operator state is restored already."""
        return

    def process(self, row: Row, context: FunctionContext) -> None:
        """Process one record."""
        raise NotImplementedError

    def end_input(self, context: FunctionContext) -> None:
        """Emit what is left after the last record. Not called when a job is stopped without drain."""
        return

    def close(self) -> None:
        """Release everything. Called also after a failure."""
        return


class KeyedProcessFunction:
    """A keyed process function also has keyed state and timers.

    Take the states in `open`, and use them where there is a key: in `process` and `on_timer`.
    """

    def open(self, context: KeyedContext) -> None:
        """Take states. No record was processed yet, and there is no key."""
        return

    def process(self, row: Row, context: KeyedContext) -> None:
        """Process one record."""
        raise NotImplementedError

    def on_timer(self, at_ms: int, context: KeyedContext) -> None:
        """Process a timer. ``context.timestamp_ms`` is ``at_ms`` for an event-time timer, else None."""
        return

    def close(self) -> None:
        """Release everything. Called also after a failure."""
        return


class CoProcessFunction:
    """A co-process function has two connected inputs, and keyed state and timers if both inputs are keyed."""

    def open(self, context: KeyedContext) -> None:
        """Take states. No record was processed yet, and there is no key."""
        return

    def process_1(self, row: Row, context: KeyedContext) -> None:
        """Process one record of the first input."""
        raise NotImplementedError

    def process_2(self, row: Row, context: KeyedContext) -> None:
        """Process one record of the second input."""
        raise NotImplementedError

    def on_timer(self, at_ms: int, context: KeyedContext) -> None:
        """Process a timer; see `KeyedProcessFunction.on_timer`."""
        return

    def end_input_1(self, context: KeyedContext) -> None:
        """Emit what is left after the last record of the first input."""
        return

    def end_input_2(self, context: KeyedContext) -> None:
        """Emit what is left after the last record of the second input."""
        return

    def close(self) -> None:
        """Release everything. Called also after a failure."""
        return


class BroadcastProcessFunction:
    """A broadcast process function joins a stream, keyed or not, with a broadcast stream.

    Only records of the broadcast stream may change broadcast state, so that it is equal in all subtasks.
    """

    def open(self, context: KeyedContext) -> None:
        """Take states. No record was processed yet, and there is no key."""
        return

    def process(self, row: Row, context: KeyedContext) -> None:
        """Process one record of the first stream."""
        raise NotImplementedError

    def process_broadcast(self, row: Row, context: KeyedContext) -> None:
        """Process one record of the broadcast stream."""
        raise NotImplementedError

    def on_timer(self, at_ms: int, context: KeyedContext) -> None:
        """Process a timer; see `KeyedProcessFunction.on_timer`."""
        return

    def close(self) -> None:
        """Release everything. Called also after a failure."""
        return


@dataclass(frozen=True)
class AggregateFunction:
    """An aggregate function folds the rows of a key (and window) into an accumulator, a plain value.

    ``merge(a, b)`` is needed for session windows, and ``retract(accumulator, row)`` for changelogs.

    ``increments(batch)`` is optional. It may be given where the accumulator is its own result and ``add``
    adds an int to it. It returns the ints of all rows of a batch, or None if it cannot. It saves the loop
    over records.
    """

    create: Callable[[], Any]
    add: Callable[[Any, Row], Any]
    result: Callable[[Any], Any]
    merge: Callable[[Any, Any], Any] | None = None
    retract: Callable[[Any, Row], Any] | None = None
    increments: Callable[[pa.RecordBatch], Ints | None] | None = None


def count() -> AggregateFunction:
    """Return an aggregate that counts rows."""
    return AggregateFunction(
        lambda: 0,
        lambda n, _row: n + 1,
        lambda n: n,
        lambda a, b: a + b,
        lambda n, _row: n - 1,
        lambda batch: np.ones(batch.num_rows, dtype=np.int64),
    )


def total(column: str) -> AggregateFunction:
    """Return an aggregate that sums a column."""
    return AggregateFunction(
        lambda: 0,
        lambda n, row: n + row[column],
        lambda n: n,
        lambda a, b: a + b,
        lambda n, row: n - row[column],
        lambda batch: integers(batch.column(column)) if column in batch.schema.names else None,
    )


def mean(column: str) -> AggregateFunction:
    """Return an aggregate that averages a column. Its result is None without rows."""
    return AggregateFunction(
        lambda: (0, 0),
        lambda acc, row: (acc[0] + row[column], acc[1] + 1),
        lambda acc: acc[0] / acc[1] if acc[1] else None,
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lambda acc, row: (acc[0] - row[column], acc[1] - 1),
    )


def highest(column: str) -> AggregateFunction:
    """Return an aggregate that takes the maximum of a column. It cannot be retracted."""
    return AggregateFunction(
        lambda: None,
        lambda best, row: row[column] if best is None else max(best, row[column]),
        lambda best: best,
        lambda a, b: b if a is None else a if b is None else max(a, b),
    )
