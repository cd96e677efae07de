"""The operators behind the builder's words, but sources, windows and sinks."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from pravega_lab.engine.flow.batch import Batch, Row, RowKind
from pravega_lab.engine.flow.functions import (
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
from pravega_lab.engine.flow.keys import Key, KeySelector
from pravega_lab.engine.flow.operator import Operator, OperatorContext, RuntimeMode
from pravega_lab.engine.flow.rolling import is_exact_key, rolling_sums
from pravega_lab.engine.flow.timers import Timer
from pravega_lab.errors import BadInputError


class MapOperator(Operator):
    """One row for each; its time and kind stay."""

    def __init__(self, function: MapFunction) -> None:
        self._function = function

    def process_batch(self, batch: Batch, input: int) -> None:
        rows = []
        for row in batch.rows:
            try:
                rows.append(self._function(row))
            except Exception as error:
                raise self.context.user_error(error, row) from error
        self.context.output.emit(Batch.of_rows(rows, batch.timestamps, batch.kinds))


class MapBatchOperator(Operator):
    """A function of whole Arrow batches that keeps the number of rows."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def process_batch(self, batch: Batch, input: int) -> None:
        try:
            arrow = self._function(batch.arrow)
        except Exception as error:
            raise self.context.user_error(error, f"a batch of {batch.num_rows} rows") from error
        if arrow.num_rows != batch.num_rows:
            raise BadInputError(
                f"{self.context.name}: map_batches gave {arrow.num_rows} rows for {batch.num_rows}; "
                "use flat_map where the number changes"
            )
        self.context.output.emit(Batch.of_arrow(arrow, batch.timestamps, batch.kinds))


class FilterOperator(Operator):
    def __init__(self, function: FilterFunction) -> None:
        self._function = function

    def process_batch(self, batch: Batch, input: int) -> None:
        keep = []
        for index, row in enumerate(batch.rows):
            try:
                if self._function(row):
                    keep.append(index)
            except Exception as error:
                raise self.context.user_error(error, row) from error
        if len(keep) == batch.num_rows:
            self.context.output.emit(batch)
        else:
            self.context.output.emit(batch.take(np.array(keep, dtype=np.int64)))


class FlatMapOperator(Operator):
    """Any number of rows for each; they keep its time and kind."""

    def __init__(self, function: FlatMapFunction) -> None:
        self._function = function

    def process_batch(self, batch: Batch, input: int) -> None:
        for row, timestamp_ms, kind in batch.records():
            try:
                for made in self._function(row):
                    self.context.output.row(made, timestamp_ms, kind)
            except Exception as error:
                raise self.context.user_error(error, row) from error


class PassOperator(Operator):
    """Emits what it gets: union, and other places where streams only meet."""

    def process_batch(self, batch: Batch, input: int) -> None:
        self.context.output.emit(batch)


class FunctionOperator(Operator):
    """Calls a user's function with a context; the subclasses say which of its methods."""

    def __init__(self, function: Any, keys: Mapping[int, KeySelector] | None = None) -> None:
        self._function = copy.deepcopy(function)
        self._keys = dict(keys or {})

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._context = KeyedContext(context)

    def open(self) -> None:
        self._call(None, self._function.open, self._context)

    def close(self) -> None:
        self._function.close()

    def on_timer(self, timer: Timer) -> None:
        self._context.timestamp_ms = timer.at_ms if timer.is_event_time else None
        self._context.kind = RowKind.INSERT
        self._call(
            f"timer {timer.at_ms} of {timer.key!r}", self._function.on_timer, timer.at_ms, self._context
        )

    def _each(self, batch: Batch, input: int, process: Callable[[Row, KeyedContext], None]) -> None:
        selector = self._keys.get(input)
        context = self._context
        for row, context.timestamp_ms, context.kind in batch.records():
            if selector is not None:
                self.context.keyed.set_key(selector.key(row))
            self._call(row, process, row, context)

    def _call(self, at: object, function: Callable[..., None], *args: Any) -> None:
        try:
            function(*args)
        except Exception as error:
            raise self.context.user_error(error, at) from error


class ProcessOperator(FunctionOperator):
    _function: ProcessFunction

    def process_batch(self, batch: Batch, input: int) -> None:
        self._each(batch, input, self._function.process)

    def end_input(self, input: int) -> None:
        self._context.timestamp_ms = None
        self._call("the end of the input", self._function.end_input, self._context)


class KeyedProcessOperator(FunctionOperator):
    _function: KeyedProcessFunction

    def process_batch(self, batch: Batch, input: int) -> None:
        self._each(batch, input, self._function.process)


class CoProcessOperator(FunctionOperator):
    _function: CoProcessFunction

    def process_batch(self, batch: Batch, input: int) -> None:
        function = self._function
        self._each(batch, input, function.process_2 if input == 1 else function.process_1)

    def end_input(self, input: int) -> None:
        self._context.timestamp_ms = None
        ends = self._function.end_input_2 if input == 2 else self._function.end_input_1
        self._call(f"the end of input {input}", ends, self._context)


class BroadcastProcessOperator(FunctionOperator):
    _function: BroadcastProcessFunction

    def process_batch(self, batch: Batch, input: int) -> None:
        function = self._function
        self._each(batch, input, function.process_broadcast if input == 1 else function.process)


class AggregateOperator(Operator):
    """A rolling aggregate of each key: its new value for every record.

    ``is_changelog``: the output tells what changed: +I first, then -U and +U, and -D when nothing is left of
    the key. Rows that retract are understood in either case. Batch execution tells each key's last value
    only.
    ``initial``: accumulators of keys that have no state yet. ``column``: of the result, if a row is made of
    it and the key's columns.
    """

    together_from = 16  # records: fewer are faster one by one

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
        keyed, is_batch = self.context.keyed, self.context.mode is RuntimeMode.BATCH
        rolled = self._rolled(batch) if batch.num_rows >= self.together_from else None
        if rolled is not None:
            self.context.output.emit(rolled)
            return
        for row, timestamp_ms, kind in batch.records():
            try:
                keyed.set_key(self._key.key(row))
                old, new = self._fold(row, kind)
                if not is_batch:
                    self._tell(old, new, timestamp_ms)
            except BadInputError:
                raise
            except Exception as error:
                raise self.context.user_error(error, row) from error

    def _rolled(self, batch: Batch) -> Batch | None:
        """The results of all records at once; None where they have to be taken one by one."""
        by, adding, mode = self._key.by, self._function.increments, self.context.mode
        is_plain = batch.is_arrow and batch.kinds is None and not self._is_changelog
        if adding is None or self._column is None or not is_plain or mode is RuntimeMode.BATCH:
            return None
        rows = batch.arrow
        if not isinstance(by, str) or by == self._column or by not in rows.schema.names:
            return None
        increments = adding(rows) if is_exact_key(rows.schema.field(by).type) else None
        if increments is None:
            return None
        keys, codes = self._key.encoded(batch)
        tables = self.context.keyed.changing_all("aggregate", keys)
        old = [table.get(key) or self._first(key) for table, key in zip(tables, keys, strict=True)]
        found = rolling_sums(codes, increments, [accumulator for _, accumulator in old])
        if found is None:
            return None
        results, sums, counts = found
        for table, key, (n, _), more, new in zip(tables, keys, old, counts, sums, strict=True):
            table[key] = (n + more, new)
        columns = [rows.column(by), pa.array(results)]
        return Batch.of_arrow(pa.RecordBatch.from_arrays(columns, [by, self._column]), batch.timestamps)

    def _first(self, key: Key) -> tuple[int, Any]:
        """(count, accumulator) of a key without state."""
        return (1, self._initial[key]) if key in self._initial else (0, self._function.create())

    def _fold(self, row: Row, kind: RowKind) -> tuple[Any, Any]:
        """(count, accumulator) before and after; None where there are no rows of the key."""
        table, key = self.context.keyed.changing("aggregate"), self.context.keyed.key
        old = table.get(key)
        if old is None and key in self._initial:
            old = self._first(key)
        count, accumulator = old or (0, self._function.create())
        if kind.adds:
            new = (count + 1, self._function.add(accumulator, row))
        elif self._function.retract is None:
            raise BadInputError(
                f"{self.context.name}: {kind.short} arrived, and this aggregate cannot take anything back"
            )
        else:
            new = (count - 1, self._function.retract(accumulator, row))
        if new[0] > 0:
            table[key] = new
            return old, new
        table.pop(key, None)
        return old, None

    def _tell(self, old: Any, new: Any, timestamp_ms: int | None) -> None:
        key, output = self.context.keyed.key, self.context.output
        if old is not None and self._is_changelog:
            gone = RowKind.DELETE if new is None else RowKind.UPDATE_BEFORE
            output.row(self._make_row(key, self._function.result(old[1])), timestamp_ms, gone)
        if new is not None:
            come = RowKind.UPDATE_AFTER if old is not None and self._is_changelog else RowKind.INSERT
            output.row(self._make_row(key, self._function.result(new[1])), timestamp_ms, come)

    def key_ends(self) -> None:
        table, key = self.context.keyed.table("aggregate"), self.context.keyed.key
        if key in table:
            self._tell(None, table[key], None)
