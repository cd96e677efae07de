"""The operators that the builder creates for its words, except sources, windows and sinks."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.portable.columns import np, pa

from ..batch import Batch, Row, RowKind, copied, copied_value
from ..errors import RestoreError
from ..state.key_index import can_be_indexed
from ..state.keys import Key, KeySelector
from ..time.timers import Timer
from .functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedContext,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
)
from .operator import Operator, OperatorContext, RuntimeMode
from .rolling import rolling_sums

_NOT_RUN = (Awaitable, Generator, AsyncGenerator)
_PLAIN = "functions of a job are plain ones, without async and yield"


class MapOperator(Operator):
    """Emit one row for each row, with the same time and kind."""

    def __init__(self, function: MapFunction) -> None:
        self._function = function

    def process_batch(self, batch: Batch, input: int) -> None:
        """Emit the mapped rows as one batch."""
        rows = []
        for row in batch.rows:
            try:
                rows.append(copied(self._function(row)))
            except Exception as error:
                raise self.context.user_error(error, row) from error
        self.context.output.emit(Batch.of_rows(rows, batch.timestamps, batch.kinds))


class MapBatchOperator(Operator):
    """Apply a function of whole Arrow batches that keeps the number of rows."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def process_batch(self, batch: Batch, input: int) -> None:
        """Emit the mapped batch with the times and kinds of the old one.

        Raises:
            BadInputError: the function returned something else than a record batch with as many rows.
        """
        try:
            arrow = self._function(batch.arrow)
        except Exception as error:
            raise self.context.user_error(error, f"a batch of {batch.num_rows} rows") from error
        if not isinstance(arrow, pa.RecordBatch):
            raise BadInputError(
                f"{self.context.name}: map_batches returned a {type(arrow).__name__}; "
                "return a pyarrow.RecordBatch"
            )
        if arrow.num_rows != batch.num_rows:
            raise BadInputError(
                f"{self.context.name}: map_batches returned {arrow.num_rows} rows for {batch.num_rows}; "
                "use flat_map where the number changes"
            )
        self.context.output.emit(Batch.of_arrow(arrow, batch.timestamps, batch.kinds))


class FilterOperator(Operator):
    """Emit the rows for which a function returns true."""

    def __init__(self, function: FilterFunction) -> None:
        self._function = function

    def process_batch(self, batch: Batch, input: int) -> None:
        """Emit the rows that pass. If all of them do, the batch is passed on as it is."""
        keep = []
        for index, row in enumerate(batch.rows):
            try:
                passes = self._function(row)
                if passes is True or (passes is not False and _is_true(passes)):
                    keep.append(index)
            except Exception as error:
                raise self.context.user_error(error, row) from error
        if len(keep) == batch.num_rows:
            self.context.output.emit(batch)
        else:
            self.context.output.emit(batch.take(np.array(keep, dtype=np.int64)))


def _has_not_run(value: object) -> bool:
    """Return whether a value is a call that has not run, and end it, so that Python does not warn of it."""
    if isinstance(value, Coroutine | Generator):
        value.close()
    return isinstance(value, _NOT_RUN)


def _is_true(value: object) -> bool:
    """Return whether a value counts as true, unless it is a call that has not run."""
    if _has_not_run(value):
        raise TypeError(f"it returned a {type(value).__name__}, which is always true: {_PLAIN}")
    return bool(value)


class FlatMapOperator(Operator):
    """Emit any number of rows for each row, with its time and kind."""

    def __init__(self, function: FlatMapFunction) -> None:
        self._function = function

    def process_batch(self, batch: Batch, input: int) -> None:
        """Emit the rows that the function returns for each row."""
        for row, timestamp_ms, kind in batch.records():
            try:
                for made in self._function(row):
                    self.context.output.row(made, timestamp_ms, kind)
            except Exception as error:
                raise self.context.user_error(error, row) from error


class PassOperator(Operator):
    """Emit every batch unchanged, for a union that needs an operator of its own."""

    def process_batch(self, batch: Batch, input: int) -> None:
        """Emit the batch."""
        self.context.output.emit(batch)


class FunctionOperator(Operator):
    """Call the methods of a user function with a context. Subclasses choose the methods."""

    def __init__(self, function: Any, keys: Mapping[int, KeySelector] | None = None) -> None:
        self._function = copy.deepcopy(function)
        self._keys = dict(keys or {})

    def setup(self, context: OperatorContext) -> None:
        """Receive the context, and wrap it for the function."""
        super().setup(context)
        self._context = KeyedContext(context)

    def open(self) -> None:
        """Open the function."""
        self._call(None, self._function.open, self._context)

    def close(self) -> None:
        """Close the function."""
        self._function.close()

    def on_timer(self, timer: Timer) -> None:
        """Call the function with a timer."""
        self._context.timestamp_ms = timer.at_ms if timer.is_event_time else None
        self._context.kind = RowKind.INSERT
        self._call(
            f"timer {timer.at_ms} of {timer.key!r}", self._function.on_timer, timer.at_ms, self._context
        )

    def _each(self, batch: Batch, input: int, process: Callable[[Row, KeyedContext], None]) -> None:
        selector = self._keys.get(input)
        context = self._context
        if selector is None:
            self.context.keyed.forget_key()
        for row, context.timestamp_ms, context.kind in batch.records():
            if selector is not None:
                self.context.keyed.set_key(selector.key(row))
            self._call(row, process, row, context)

    def _call(self, at: object, function: Callable[..., object], *args: Any) -> None:
        try:
            made = function(*args)
            if made is not None:
                raise TypeError(_unread(function, made))
        except RestoreError as error:
            raise RestoreError(f"{self.context.name}: {error}") from error
        except Exception as error:
            raise self.context.user_error(error, at) from error


def _unread(function: Callable[..., object], made: object) -> str:
    """Return what is wrong with a method that returned a value, which would be lost."""
    name = getattr(function, "__name__", "the function")
    hint = _PLAIN if _has_not_run(made) else "emit rows with context.emit()"
    return f"{name} returned a {type(made).__name__}, and it must return nothing: {hint}"


class ProcessOperator(FunctionOperator):
    """Run a `ProcessFunction`."""

    _function: ProcessFunction

    def process_batch(self, batch: Batch, input: int) -> None:
        """Call the function for each record."""
        self._each(batch, input, self._function.process)

    def end_input(self, input: int) -> None:
        """Call the function at the end of the input."""
        self._context.timestamp_ms = None
        self._call("the end of the input", self._function.end_input, self._context)


class KeyedProcessOperator(FunctionOperator):
    """Run a `KeyedProcessFunction`."""

    _function: KeyedProcessFunction

    def process_batch(self, batch: Batch, input: int) -> None:
        """Call the function for each record, with its key."""
        self._each(batch, input, self._function.process)


class CoProcessOperator(FunctionOperator):
    """Run a `CoProcessFunction` on two inputs."""

    _function: CoProcessFunction

    def process_batch(self, batch: Batch, input: int) -> None:
        """Call the method of the input for each record."""
        function = self._function
        self._each(batch, input, function.process_2 if input == 1 else function.process_1)

    def end_input(self, input: int) -> None:
        """Call the function at the end of an input (1 or 2)."""
        self._context.timestamp_ms = None
        self.context.keyed.forget_key()
        ends = self._function.end_input_2 if input == 2 else self._function.end_input_1
        self._call(f"the end of input {input}", ends, self._context)


class BroadcastProcessOperator(FunctionOperator):
    """Run a `BroadcastProcessFunction`, whose broadcast stream is input 1."""

    _function: BroadcastProcessFunction

    def process_batch(self, batch: Batch, input: int) -> None:
        """Call the method of the input for each record."""
        function = self._function
        self._each(batch, input, function.process_broadcast if input == 1 else function.process)


class AggregateOperator(Operator):
    """Keep a rolling aggregate of each key, and emit its new value for every record.

    With ``is_changelog`` the output says what changed: +I for a new key, then -U and +U, and -D when no row
    of the key is left. The operator understands rows that retract earlier ones in either case. Batch
    execution emits only the last value of each key.

    ``initial`` has accumulators of keys that have no state yet. ``column`` is the column of the result, or
    None if ``make_row`` makes other rows than the columns of the key and the result.
    """

    together_from = 128  # records; fewer are faster one by one

    def __init__(
        self,
        function: AggregateFunction,
        key: KeySelector,
        make_row: Callable[[Key, Any], Row],
        *,
        is_changelog: bool,
        initial: Mapping[Key, Any] | None,
        column: str | None = None,
    ) -> None:
        self._function, self._key, self._make_row, self._column = function, key, make_row, column
        self._is_changelog, self._initial = is_changelog, dict(initial or {})

    def process_batch(self, batch: Batch, input: int) -> None:
        """Fold the records into the accumulators and emit the results, all at once where that is possible."""
        keyed, is_batch = self.context.keyed, self.context.mode is RuntimeMode.BATCH
        rolled = self._rolled(batch) if batch.num_rows >= self.together_from else None
        if rolled is not None:
            self.context.output.emit(rolled)
            return
        for row, timestamp_ms, kind in batch.records():
            try:
                keyed.set_key(self._key.key(row))
                old = self._entry()
                # A function may change the accumulator in place, so the old result is taken before.
                gone = self._row(old) if old is not None and self._is_changelog else None
                new = self._fold(old, row, kind)
                if not is_batch:
                    self._tell(gone, new, timestamp_ms)
            except BadInputError:
                raise
            except Exception as error:
                raise self.context.user_error(error, row) from error

    def _rolled(self, batch: Batch) -> Batch | None:
        """Return the results of all records at once, or None if they must be processed one by one."""
        by, adding, mode = self._key.by, self._function.increments, self.context.mode
        is_plain = batch.is_arrow and batch.kinds is None and not self._is_changelog
        if adding is None or self._column is None or not is_plain or mode is RuntimeMode.BATCH:
            return None
        rows = batch.arrow
        if not isinstance(by, str) or by == self._column or by not in rows.schema.names:
            return None
        increments = adding(rows) if can_be_indexed(rows.schema.field(by).type) else None
        if increments is None:
            return None
        encoded = rows.column(by).dictionary_encode("encode")
        table = self.context.keyed.integers("aggregate", rows.schema.field(by).type)
        places = table.find(encoded.dictionary, self._first)
        if places is None:
            return None
        found = rolling_sums(encoded.indices.to_numpy().astype(np.int64), increments, table.sums(places))
        if found is None:
            return None
        results, sums, counts = found
        table.update(places, counts, sums)
        columns = [rows.column(by), pa.array(results)]
        return Batch.of_arrow(pa.RecordBatch.from_arrays(columns, [by, self._column]), batch.timestamps)

    def _first(self, key: Key) -> tuple[int, Any]:
        """Return (count, accumulator) of a key without state."""
        if key in self._initial:
            return 1, copy.deepcopy(self._initial[key])
        return 0, self._function.create()

    def _entry(self) -> Any:
        """Return (count, accumulator) of the current key, or None if it has no rows."""
        key = self.context.keyed.key
        old = self.context.keyed.table("aggregate").get(key)
        if old is None and key in self._initial:
            return self._first(key)
        return old if old is not None and old[0] else None

    def _fold(self, old: Any, row: Row, kind: RowKind) -> Any:
        """Return (count, accumulator) of the current key after the row, or None if no rows are left."""
        table, key = self.context.keyed.changing("aggregate"), self.context.keyed.key
        count, accumulator = old or (0, self._function.create())
        if kind.adds:
            new = (count + 1, self._function.add(accumulator, row))
        elif self._function.retract is None:
            raise BadInputError(
                f"{self.context.name}: {kind.short} arrived, but this aggregate cannot take anything back: "
                "give it retract="
            )
        else:
            new = (count - 1, self._function.retract(accumulator, row))
        if new[0] > 0:
            table[key] = new
            return new
        if key in self._initial:
            table[key] = (0, self._function.create())  # or else it would begin with ``initial`` again
        else:
            table.pop(key, None)
        return None

    def _row(self, entry: Any) -> Row:
        return self._make_row(self.context.keyed.key, copied_value(self._function.result(entry[1])))

    def _tell(self, gone: Row | None, new: Any, timestamp_ms: int | None) -> None:
        output = self.context.output
        if gone is not None:
            output.row(gone, timestamp_ms, RowKind.DELETE if new is None else RowKind.UPDATE_BEFORE)
        if new is not None:
            output.row(self._row(new), timestamp_ms, RowKind.INSERT if gone is None else RowKind.UPDATE_AFTER)

    def key_ends(self) -> None:
        """Emit the value of the current key (batch execution)."""
        table, key = self.context.keyed.table("aggregate"), self.context.keyed.key
        if key in table:
            self._tell(None, table[key], None)
