"""The builder: a program in Flink's words, which ends in a `graph.JobGraph`.

::

    env = StreamEnvironment("counts", parallelism=2)
    env.from_rows([{"word": "a"}, ...]).key_by("word").aggregate(count()).sink_to(sink)
    graph = env.job_graph()
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pravega_lab.errors import BadInputError
from pravega_lab.portable.columns import pa

from ..batch import Row
from ..observer import NoObserver, Observer, logged
from ..operators.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
)
from ..operators.operator import Operator
from ..operators.operators import (
    AggregateOperator,
    BroadcastProcessOperator,
    CoProcessOperator,
    FilterOperator,
    FlatMapOperator,
    KeyedProcessOperator,
    MapBatchOperator,
    MapOperator,
    PassOperator,
    ProcessOperator,
)
from ..operators.windows import Window, WindowAssigner, WindowOperator
from ..sink.sinks import Sink, TwoPhaseCommitSink
from ..sink.two_phase import STATE as TWO_PHASE_STATE
from ..sink.two_phase import TwoPhaseCommitOperator
from ..source.collections import RowsSource
from ..source.coordinator import SourceCoordinator
from ..source.source_operator import FUNCTION_STATE, READER_STATE, LegacySourceOperator, SourceOperator
from ..source.sources import ExternallyInducedSource, Source, SourceFunction
from ..state.keys import DEFAULT_MAX_PARALLELISM, Key, KeySelector
from ..time.watermarks import WatermarkStrategy, check_ms
from .graph import Exchange, JobGraph, NodeEdge, OperatorNode
from .sink_nodes import sink_nodes


class StreamEnvironment:
    """Build a program.

    Args:
        name: Name of the job in pictures and errors.
        parallelism: Number of subtasks of each operator that does not set another one.
        max_parallelism: Number of key groups of each operator that does not set another one. It bounds the
            parallelism, and a job that restores keyed state has to keep it.
        chaining: Run connected operators in one task where that is possible.
        observer: Receives split assignments only; pass it to `Job` for the rest.

    The methods that add a source or a sink have these arguments in common:

    - ``name``: name of the operator in pictures and errors.
    - ``uid``: name of the operator's state in checkpoints. Without it, the name follows from the operator's
      place in the program, and a changed program does not find the state.
    - ``parallelism``: number of subtasks. None: that of the environment.
    - ``watermarks``: how the source finds event times. None: its rows have none.
    """

    def __init__(
        self,
        name: str = "job",
        *,
        parallelism: int = 1,
        max_parallelism: int = DEFAULT_MAX_PARALLELISM,
        chaining: bool = True,
        observer: Observer | None = None,
    ) -> None:
        self.name, self._parallelism, self._max = name, parallelism, max_parallelism
        self._chaining, self._observer = chaining, logged(observer or NoObserver())
        self.nodes: list[OperatorNode] = []

    def from_source(
        self,
        source: Source[Any, Any],
        watermarks: WatermarkStrategy | None = None,
        *,
        name: str = "source",
        uid: str | None = None,
        parallelism: int | None = None,
    ) -> DataStream:
        """Add a FLIP-27 source."""
        node = OperatorNode(
            name,
            lambda: SourceOperator(source, watermarks),
            parallelism,
            uid,
            boundedness=source.boundedness,
            make_coordinator=lambda context: SourceCoordinator(source, context, self._observer),
            check_restored=source.check_restored,
            state=READER_STATE,
        )
        return self._add(node)

    def add_source(
        self,
        function: SourceFunction,
        watermarks: WatermarkStrategy | None = None,
        *,
        name: str = "source",
        uid: str | None = None,
        parallelism: int | None = None,
    ) -> DataStream:
        """Add a source of the legacy form. An externally induced source also adds its master hook."""
        node = OperatorNode(
            name,
            lambda: LegacySourceOperator(copy.deepcopy(function), watermarks),
            parallelism,
            uid,
            boundedness=function.boundedness,
            state=FUNCTION_STATE,
        )
        if isinstance(function, ExternallyInducedSource):
            node.make_hook = function.create_master_hook
        return self._add(node)

    def from_rows(
        self,
        rows: Sequence[Row] | pa.Table,
        watermarks: WatermarkStrategy | None = None,
        *,
        splits: int = 1,
        batch_rows: int = 100,
        name: str = "source",
        uid: str | None = None,
        parallelism: int | None = None,
    ) -> DataStream:
        """Add a bounded source of rows (dicts or an Arrow table), cut into ``splits`` contiguous pieces.

        A reader emits at most ``batch_rows`` rows at a time.
        """
        source = RowsSource(rows, splits=splits, batch_rows=batch_rows)
        return self.from_source(source, watermarks, name=name, uid=uid, parallelism=parallelism)

    def from_table(
        self,
        table: Table,
        *,
        idle_after_ms: int | None = None,
        name: str = "table",
        uid: str | None = None,
        parallelism: int | None = None,
    ) -> DataStream:
        """Add a table as a source, with its watermarks. `pravega_lab.Table` describes one.

        A segment that is silent for ``idle_after_ms`` does not hold back the watermark. By default it does.

        Raises:
            BadInputError: ``idle_after_ms`` is below 1, or the table has no watermark.
        """
        strategy = table.watermarks()
        if idle_after_ms is not None:
            if strategy is None:
                raise BadInputError(
                    "the table has no watermark, which idle_after_ms is about: give it one by watermark("
                    "column, delay), or leave idle_after_ms out"
                )
            strategy = replace(strategy, idle_after_ms=idle_after_ms)
        return self.from_source(table.source(), strategy, name=name, uid=uid, parallelism=parallelism)

    def job_graph(self) -> JobGraph:
        """Return the graph of the program.

        Raises:
            InvalidJobGraphError: see `JobGraph`.
        """
        return JobGraph(
            self.name,
            self.nodes,
            parallelism=self._parallelism,
            max_parallelism=self._max,
            chaining=self._chaining,
        )

    def _add(self, node: OperatorNode) -> DataStream:
        self.nodes.append(node)
        return DataStream(self, [NodeEdge(node)])


class Table(Protocol):
    """A table, as far as a job reads or writes it."""

    def source(self) -> Source[Any, Any]:
        """Return a source of its rows."""

    def sink(self) -> Sink | TwoPhaseCommitSink:
        """Return a sink that appends rows, or changes of rows."""

    def watermarks(self) -> WatermarkStrategy | None:
        """Return how its rows give watermarks, None if they give none."""


class DataStream:
    """A stream has the records of one operator or, after `union`, of several."""

    def __init__(self, env: StreamEnvironment, edges: Sequence[NodeEdge]) -> None:
        self._env, self._edges = env, list(edges)

    # -- record by record ----------------------------------------------------------------------------------

    def map(self, function: MapFunction, *, name: str = "map") -> DataStream:
        """Return the stream of ``function(row)`` for each row."""
        return self.transform(name, lambda: MapOperator(function))

    def map_batches(self, function: Callable[[Any], Any], *, name: str = "map") -> DataStream:
        """Return the stream of ``function(batch)``, which takes and returns Arrow batches with the same
        number of rows.
        """
        return self.transform(name, lambda: MapBatchOperator(function))

    def filter(self, function: FilterFunction, *, name: str = "filter") -> DataStream:
        """Return the stream of the rows for which ``function(row)`` is true."""
        return self.transform(name, lambda: FilterOperator(function))

    def flat_map(self, function: FlatMapFunction, *, name: str = "flat map") -> DataStream:
        """Return the stream of all rows that ``function(row)`` returns."""
        return self.transform(name, lambda: FlatMapOperator(function))

    def process(self, function: ProcessFunction, *, name: str = "process") -> DataStream:
        """Return the stream that ``function`` emits."""
        return self.transform(name, lambda: ProcessOperator(function))

    def transform(self, name: str, make: Callable[[], Operator]) -> DataStream:
        """Add any operator with one input. ``make`` returns a new operator for each subtask."""
        return self._env._add(OperatorNode(name, make, inputs=self._into(0)))

    # -- exchanges and meetings ----------------------------------------------------------------------------

    def key_by(self, key: str | Sequence[str] | Callable[[Row], Key]) -> KeyedStream:
        """Return the stream partitioned by key: equal keys go to the same subtask."""
        selector = KeySelector(key)
        return KeyedStream(self._env, self._exchanged(Exchange.HASH, selector), selector)

    def rebalance(self) -> DataStream:
        """Distribute the records round-robin to all subtasks."""
        return DataStream(self._env, self._exchanged(Exchange.REBALANCE))

    def rescale(self) -> DataStream:
        """Distribute the records round-robin to a part of the subtasks, pointwise."""
        return DataStream(self._env, self._exchanged(Exchange.RESCALE))

    def forward(self) -> DataStream:
        """Send the records to the subtask of the same index. The parallelism must be equal."""
        return DataStream(self._env, self._exchanged(Exchange.FORWARD))

    def broadcast(self) -> DataStream:
        """Send every record to all subtasks."""
        return DataStream(self._env, self._exchanged(Exchange.BROADCAST))

    def to_one(self) -> DataStream:
        """Send all records to the first subtask. (Flink's ``global`` is a keyword of Python.)"""
        return DataStream(self._env, self._exchanged(Exchange.GLOBAL))

    def union(self, *others: DataStream) -> DataStream:
        """Return the stream of the records of all these streams. They are not ordered among each other."""
        edges = [edge for stream in (self, *others) for edge in stream._edges]
        return DataStream(self._env, edges)

    def connect(self, other: DataStream) -> ConnectedStreams:
        """Return both streams as the inputs of one operator. If both are keyed, they share keyed state."""
        return ConnectedStreams(self._env, self, other)

    def side_output(self, tag: str) -> DataStream:
        """Return what the operator emitted with ``tag``, for example late records of a window."""
        tagged = [NodeEdge(edge.source, tag=tag) for edge in self._edges]
        return DataStream(self._env, tagged)

    # -- the end -------------------------------------------------------------------------------------------

    def insert_into(
        self, table: Table, *, name: str = "table", uid: str | None = None, parallelism: int | None = None
    ) -> DataStream:
        """Add a table as a sink of the rows, or of the changes that they are."""
        return self.sink_to(table.sink(), name=name, uid=uid, parallelism=parallelism)

    def sink_to(
        self,
        sink: Sink | TwoPhaseCommitSink,
        *,
        name: str = "sink",
        uid: str | None = None,
        parallelism: int | None = None,
    ) -> DataStream:
        """Add a sink. The returned stream is for `set_parallelism` and the like: a sink emits nothing."""
        if isinstance(sink, TwoPhaseCommitSink):
            make = lambda: TwoPhaseCommitOperator(copy.deepcopy(sink))  # noqa: E731
            node = OperatorNode(name, make, parallelism, uid, inputs=self._into(0), state=TWO_PHASE_STATE)
            return self._env._add(node)
        nodes = sink_nodes(sink, self._into(0), name, uid, parallelism)
        self._env.nodes.extend(nodes)
        return DataStream(self._env, [NodeEdge(nodes[0])])

    # -- settings of the last operator ---------------------------------------------------------------------

    @property
    def node(self) -> OperatorNode:
        """Return the operator of the stream.

        Raises:
            BadInputError: the stream is a union, which has several.
        """
        if len(self._edges) != 1:
            raise BadInputError("a union has no operator of its own: change the streams before the union")
        return self._edges[0].source

    def uid(self, uid: str) -> DataStream:
        """Name the state of the operator in checkpoints, so that it is found when the program around it
        changes.
        """
        self.node.uid = uid
        return self

    def name(self, name: str) -> DataStream:
        """Set the name of the operator."""
        self.node.name = name
        return self

    def set_parallelism(self, parallelism: int) -> DataStream:
        """Set the number of subtasks of the operator."""
        self.node.parallelism = parallelism
        return self

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        """Set the number of key groups of the operator.

        It bounds the parallelism, and a job that restores keyed state has to keep it.
        """
        self.node.max_parallelism = max_parallelism
        return self

    def start_new_chain(self) -> DataStream:
        """Make the operator the first of its task. Later operators may still join its chain."""
        self.node.may_chain_to_input = False
        return self

    def disable_chaining(self) -> DataStream:
        """Run the operator in a task of its own."""
        self.node.may_chain_to_input = self.node.may_chain_to_output = False
        return self

    def _into(self, input: int) -> list[NodeEdge]:
        return [NodeEdge(e.source, input, e.exchange, e.key, e.tag) for e in self._edges]

    def _exchanged(self, exchange: Exchange, key: KeySelector | None = None) -> list[NodeEdge]:
        return [NodeEdge(e.source, 0, exchange, key, e.tag) for e in self._edges]


class KeyedStream(DataStream):
    """A keyed stream sends records with equal keys to the same subtask, which keeps state for each key."""

    def __init__(self, env: StreamEnvironment, edges: Sequence[NodeEdge], key: KeySelector) -> None:
        super().__init__(env, edges)
        self.key = key

    def process(  # type: ignore[override]
        self, function: KeyedProcessFunction, *, name: str = "process"
    ) -> DataStream:
        """Return the stream that ``function`` emits, with state and timers for each key."""
        return self._keyed(name, lambda: KeyedProcessOperator(function, {0: self.key}))

    def aggregate(
        self,
        function: AggregateFunction,
        *,
        column: str = "value",
        changelog: bool = False,
        initial: Mapping[Key, Any] | None = None,
        name: str = "aggregate",
    ) -> DataStream:
        """Return a rolling aggregate: rows with the columns of the key, and the result in ``column``.

        With ``changelog``, rows say what they change (+I, -U, +U, -D). ``initial`` has the first accumulators
        of keys.
        """
        make_row = self._row_maker(column)
        return self._keyed(
            name,
            lambda: AggregateOperator(
                function, self.key, make_row, is_changelog=changelog, initial=initial, column=column
            ),
        )

    def window(
        self, assigner: WindowAssigner, *, allowed_lateness_ms: int = 0, late_tag: str | None = None
    ) -> WindowedStream:
        """Return windows of the stream. Late records go to the side output ``late_tag``, or are dropped.

        Raises:
            BadInputError: ``allowed_lateness_ms`` is negative.
        """
        check_ms("allowed_lateness_ms", allowed_lateness_ms, 0)
        return WindowedStream(self, assigner, allowed_lateness_ms, late_tag)

    def _keyed(self, name: str, make: Callable[[], Operator]) -> DataStream:
        node = OperatorNode(name, make, inputs=self._into(0), is_keyed=True)
        return self._env._add(node)

    def _key_columns(self, key: Key) -> Row:
        by = self.key.by
        if isinstance(by, str):
            return {by: key}
        if isinstance(by, tuple):
            return dict(zip(by, key, strict=True))
        return {"key": key}

    def _row_maker(self, column: str) -> Callable[[Key, Any], Row]:
        return lambda key, value: {**self._key_columns(key), column: value}


class WindowedStream:
    """A windowed stream has windows, and waits for their aggregate."""

    def __init__(
        self, stream: KeyedStream, assigner: WindowAssigner, lateness_ms: int, late_tag: str | None
    ) -> None:
        self._stream, self._assigner = stream, assigner
        self._lateness_ms, self._late_tag = lateness_ms, late_tag

    def aggregate(
        self, function: AggregateFunction, *, column: str = "value", name: str = "window"
    ) -> DataStream:
        """Return the aggregate of each window.

        Its rows have the columns of the key, ``window_start`` and ``window_end`` (ms), and the result in
        ``column``.
        """
        stream = self._stream

        def make_row(key: Key, window: Window, value: Any) -> Row:
            bounds = {"window_start": window[0], "window_end": window[1]}
            return {**stream._key_columns(key), **bounds, column: value}

        return stream._keyed(
            name,
            lambda: WindowOperator(
                self._assigner,
                function,
                stream.key,
                make_row,
                allowed_lateness_ms=self._lateness_ms,
                late_tag=self._late_tag,
            ),
        )


class ConnectedStreams:
    """Connected streams are the two inputs of an operator that is yet to be added."""

    def __init__(self, env: StreamEnvironment, first: DataStream, second: DataStream) -> None:
        self._env, self._first, self._second = env, first, second

    def process(
        self, function: CoProcessFunction | BroadcastProcessFunction, *, name: str = "co-process"
    ) -> DataStream:
        """Return the stream that ``function`` emits.

        Raises:
            BadInputError: only one stream is keyed, or the second one is not broadcast for a
                `BroadcastProcessFunction`.
        """
        keys = {
            n: stream.key
            for n, stream in enumerate((self._first, self._second))
            if isinstance(stream, KeyedStream)
        }
        if isinstance(function, BroadcastProcessFunction):
            if any(edge.exchange is not Exchange.BROADCAST for edge in self._second._edges):
                raise BadInputError(
                    "a BroadcastProcessFunction needs a broadcast stream: use connect(other.broadcast())"
                )
            make: Callable[[], Operator] = lambda: BroadcastProcessOperator(function, keys)  # noqa: E731
        else:
            if len(keys) == 1:
                raise BadInputError(
                    "one of the connected streams is keyed and the other is not: key both of them, or none"
                )
            make = lambda: CoProcessOperator(function, keys)  # noqa: E731
        inputs = [*self._first._into(0), *self._second._into(1)]
        return self._env._add(OperatorNode(name, make, inputs=inputs, is_keyed=bool(keys)))


def merged(streams: Iterable[DataStream], *, name: str = "merge") -> DataStream:
    """Return a union as an operator of its own, which can have a name, a uid and a parallelism."""
    first, *others = streams
    return first.union(*others).transform(name, PassOperator)
