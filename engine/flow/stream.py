"""The builder: Flink's words for a program, ending in a `graph.JobGraph`.

::

    env = StreamEnvironment("counts", parallelism=2)
    env.from_rows([{"word": "a"}, ...]).key_by("word").aggregate(count()).sink_to(sink)
    graph = env.job_graph()
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.collections import RowsSource
from pravega_lab.engine.flow.committers import sink_nodes
from pravega_lab.engine.flow.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
)
from pravega_lab.engine.flow.graph import Exchange, JobGraph, NodeEdge, OperatorNode
from pravega_lab.engine.flow.keys import DEFAULT_MAX_PARALLELISM, Key, KeySelector
from pravega_lab.engine.flow.observer import NoObserver, Observer
from pravega_lab.engine.flow.operator import Operator
from pravega_lab.engine.flow.operators import (
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
from pravega_lab.engine.flow.sinks import Sink, TwoPhaseCommitSink
from pravega_lab.engine.flow.source_coordinator import SourceCoordinator
from pravega_lab.engine.flow.source_input import LegacySourceOperator, SourceOperator
from pravega_lab.engine.flow.sources import ExternallyInducedSource, Source, SourceFunction
from pravega_lab.engine.flow.two_phase import TwoPhaseCommitOperator
from pravega_lab.engine.flow.watermarks import WatermarkStrategy
from pravega_lab.engine.flow.windows import Window, WindowAssigner, WindowOperator
from pravega_lab.errors import BadInputError


class StreamEnvironment:
    """Where a program is built. ``observer`` is told of split assignments; `job.Job` takes one for the
    rest."""

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
        self._chaining, self._observer = chaining, observer or NoObserver()
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
        """FLIP-27."""
        node = OperatorNode(
            name,
            lambda: SourceOperator(source, watermarks),
            parallelism,
            uid,
            boundedness=source.boundedness,
            make_coordinator=lambda context: SourceCoordinator(source, context, self._observer),
            check_restored=source.check_restored,
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
        """The legacy form. An externally induced one brings its master hook."""
        node = OperatorNode(
            name,
            lambda: LegacySourceOperator(copy.deepcopy(function), watermarks),
            parallelism,
            uid,
            boundedness=function.boundedness,
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
        """A bounded source of rows, dicts or an Arrow table, shared out in ``splits`` contiguous pieces."""
        source = RowsSource(rows, splits=splits, batch_rows=batch_rows)
        return self.from_source(source, watermarks, name=name, uid=uid, parallelism=parallelism)

    def job_graph(self) -> JobGraph:
        """
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


class DataStream:
    """Records of one or (after `union`) several operators."""

    def __init__(self, env: StreamEnvironment, edges: Sequence[NodeEdge]) -> None:
        self._env, self._edges = env, list(edges)

    # -- record by record ----------------------------------------------------------------------------------

    def map(self, function: MapFunction, *, name: str = "map") -> DataStream:
        return self.transform(name, lambda: MapOperator(function))

    def map_batches(self, function: Callable[[Any], Any], *, name: str = "map") -> DataStream:
        """``function`` takes and gives an Arrow record batch with the same number of rows."""
        return self.transform(name, lambda: MapBatchOperator(function))

    def filter(self, function: FilterFunction, *, name: str = "filter") -> DataStream:
        return self.transform(name, lambda: FilterOperator(function))

    def flat_map(self, function: FlatMapFunction, *, name: str = "flat map") -> DataStream:
        return self.transform(name, lambda: FlatMapOperator(function))

    def process(self, function: ProcessFunction, *, name: str = "process") -> DataStream:
        return self.transform(name, lambda: ProcessOperator(function))

    def transform(self, name: str, make: Callable[[], Operator]) -> DataStream:
        """Any operator of one input."""
        return self._env._add(OperatorNode(name, make, inputs=self._into(0)))

    # -- exchanges and meetings ----------------------------------------------------------------------------

    def key_by(self, key: str | Sequence[str] | Callable[[Row], Key]) -> KeyedStream:
        """Equal keys go to the same subtask."""
        selector = KeySelector(key)
        return KeyedStream(self._env, self._exchanged(Exchange.HASH, selector), selector)

    def rebalance(self) -> DataStream:
        return DataStream(self._env, self._exchanged(Exchange.REBALANCE))

    def rescale(self) -> DataStream:
        """Round robin among the subtasks of a group: pointwise."""
        return DataStream(self._env, self._exchanged(Exchange.RESCALE))

    def forward(self) -> DataStream:
        return DataStream(self._env, self._exchanged(Exchange.FORWARD))

    def broadcast(self) -> DataStream:
        return DataStream(self._env, self._exchanged(Exchange.BROADCAST))

    def to_one(self) -> DataStream:
        """All to the first subtask (``global`` is a word of Python)."""
        return DataStream(self._env, self._exchanged(Exchange.GLOBAL))

    def union(self, *others: DataStream) -> DataStream:
        edges = [edge for stream in (self, *others) for edge in stream._edges]
        return DataStream(self._env, edges)

    def connect(self, other: DataStream) -> ConnectedStreams:
        """Two streams into one operator. Both keyed: they share keyed state."""
        return ConnectedStreams(self._env, self, other)

    def side_output(self, tag: str) -> DataStream:
        """What the operator emitted with this tag; late records of a window among it."""
        tagged = [NodeEdge(edge.source, tag=tag) for edge in self._edges]
        return DataStream(self._env, tagged)

    # -- the end -------------------------------------------------------------------------------------------

    def sink_to(
        self,
        sink: Sink | TwoPhaseCommitSink,
        *,
        name: str = "sink",
        uid: str | None = None,
        parallelism: int | None = None,
    ) -> DataStream:
        """Returns the sink, for `set_parallelism` and the like; it emits nothing."""
        if isinstance(sink, TwoPhaseCommitSink):
            make = lambda: TwoPhaseCommitOperator(copy.deepcopy(sink))  # noqa: E731
            node = OperatorNode(name, make, parallelism, uid, inputs=self._into(0))
            return self._env._add(node)
        nodes = sink_nodes(sink, self._into(0), name, uid, parallelism)
        self._env.nodes.extend(nodes)
        return DataStream(self._env, [NodeEdge(nodes[0])])

    # -- settings of the last operator ---------------------------------------------------------------------

    @property
    def node(self) -> OperatorNode:
        """
        Raises:
            BadInputError: the stream is a union: it has several.
        """
        if len(self._edges) != 1:
            raise BadInputError("a union has no operator of its own: set it on the streams before union")
        return self._edges[0].source

    def uid(self, uid: str) -> DataStream:
        """Names its state in checkpoints, whatever becomes of the graph around it."""
        self.node.uid = uid
        return self

    def name(self, name: str) -> DataStream:
        self.node.name = name
        return self

    def set_parallelism(self, parallelism: int) -> DataStream:
        self.node.parallelism = parallelism
        return self

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        """The number of key groups."""
        self.node.max_parallelism = max_parallelism
        return self

    def start_new_chain(self) -> DataStream:
        self.node.may_chain_to_input = False
        return self

    def disable_chaining(self) -> DataStream:
        self.node.may_chain_to_input = self.node.may_chain_to_output = False
        return self

    def _into(self, input: int) -> list[NodeEdge]:
        return [NodeEdge(e.source, input, e.exchange, e.key, e.tag) for e in self._edges]

    def _exchanged(self, exchange: Exchange, key: KeySelector | None = None) -> list[NodeEdge]:
        return [NodeEdge(e.source, 0, exchange, key, e.tag) for e in self._edges]


class KeyedStream(DataStream):
    """A stream whose equal keys meet in one subtask, with state of their own."""

    def __init__(self, env: StreamEnvironment, edges: Sequence[NodeEdge], key: KeySelector) -> None:
        super().__init__(env, edges)
        self.key = key

    def process(  # type: ignore[override]
        self, function: KeyedProcessFunction, *, name: str = "process"
    ) -> DataStream:
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
        """A rolling aggregate: rows with the key's columns and the result in ``column``.

        ``changelog``: rows say what they change (+I, -U, +U, -D). ``initial``: accumulators to begin with.
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
    """Windows of a keyed stream, waiting for their aggregate."""

    def __init__(
        self, stream: KeyedStream, assigner: WindowAssigner, lateness_ms: int, late_tag: str | None
    ) -> None:
        self._stream, self._assigner = stream, assigner
        self._lateness_ms, self._late_tag = lateness_ms, late_tag

    def aggregate(
        self, function: AggregateFunction, *, column: str = "value", name: str = "window"
    ) -> DataStream:
        """Rows with the key's columns, ``window_start`` and ``window_end`` (ms), and the result in
        ``column``."""
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
    """Two inputs of one operator to be."""

    def __init__(self, env: StreamEnvironment, first: DataStream, second: DataStream) -> None:
        self._env, self._first, self._second = env, first, second

    def process(
        self, function: CoProcessFunction | BroadcastProcessFunction, *, name: str = "co-process"
    ) -> DataStream:
        """A `BroadcastProcessFunction` wants the second stream broadcast."""
        keys = {
            n: stream.key
            for n, stream in enumerate((self._first, self._second))
            if isinstance(stream, KeyedStream)
        }
        if isinstance(function, BroadcastProcessFunction):
            if any(edge.exchange is not Exchange.BROADCAST for edge in self._second._edges):
                raise BadInputError("a BroadcastProcessFunction wants connect(other.broadcast())")
            make: Callable[[], Operator] = lambda: BroadcastProcessOperator(function, keys)  # noqa: E731
        else:
            if len(keys) == 1:
                raise BadInputError("connect two keyed streams or two that are not: one is keyed here")
            make = lambda: CoProcessOperator(function, keys)  # noqa: E731
        inputs = [*self._first._into(0), *self._second._into(1)]
        return self._env._add(OperatorNode(name, make, inputs=inputs, is_keyed=bool(keys)))


def merged(streams: Iterable[DataStream], *, name: str = "merge") -> DataStream:
    """A union as an operator of its own, which can have a name, a uid and a parallelism."""
    first, *others = streams
    return first.union(*others).transform(name, PassOperator)
