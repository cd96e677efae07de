"""`Program`: a random job, and its expected results from an independent model on plain lists.

Each operator is chosen so that the multiset of its results does not depend on the order of its input. The
result of a run with failures can therefore be compared with that of the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ...flow.batch import Row
from ...flow.files import Files
from ...flow.graph.graph import JobGraph
from ...flow.graph.stream import DataStream, StreamEnvironment
from ...flow.operators.functions import (
    BroadcastProcessFunction,
    CoProcessFunction,
    FunctionContext,
    KeyedContext,
    KeyedProcessFunction,
    ProcessFunction,
    count,
)
from ...flow.operators.windows import TumblingWindows
from ...flow.sink.file_sink import TwoPhaseFileSink
from ...flow.source.sources import Boundedness
from ...flow.time.watermarks import WatermarkStrategy
from .external import HookSource, InducedSource
from .feed import FedLog, Feed, FeedSource
from .oddities import Oddities
from .sink import CommittedTable, TableSink

OUT = "out"
MAX_PARALLELISM = 16
SHUFFLED = ("count", "keep", "window", "pair", "rules", "rescale")  # operators whose input is never chained


class KeepAll(KeyedProcessFunction):
    """Emits, for each row, how many rows its key has had, with list and map state."""

    def open(self, context: KeyedContext) -> None:
        self._seen = context.keyed_list_state("seen")
        self._sums = context.map_state("sums")

    def process(self, row: Row, context: KeyedContext) -> None:
        self._sums.put("n", self._sums.get("n", 0) + 1)
        if len(self._seen.get()) < 3:
            self._seen.add(row["k"])
        context.emit({"k": row["k"], "v": self._sums.get("n")})


class Paired(CoProcessFunction):
    """Counts the rows of a key in both inputs."""

    def open(self, context: KeyedContext) -> None:
        self._n = context.value_state("n", 0)

    def process_1(self, row: Row, context: KeyedContext) -> None:
        self._n.update(self._n.get() + 1)
        context.emit({"k": row["k"], "v": self._n.get()})

    process_2 = process_1


class WithRules(BroadcastProcessFunction):
    """Emits the first input. Broadcast rows only go into state, and do not affect the results."""

    def open(self, context: KeyedContext) -> None:
        self._rules = context.broadcast_state("rules")

    def process(self, row: Row, context: KeyedContext) -> None:
        context.emit(row)

    def process_broadcast(self, row: Row, context: KeyedContext) -> None:
        self._rules.put(row["v"], row["k"])


class Buffered(ProcessFunction):
    """Holds rows in operator state and emits them four at a time, and the rest at the end of the input."""

    def __init__(self, union: bool = False) -> None:
        self._union = union

    def open(self, context: FunctionContext) -> None:
        self._held = context.list_state("held")
        if self._union:
            marks = context.union_list_state("marks")
            marks[:] = [max([1, *marks])]

    def process(self, row: Row, context: FunctionContext) -> None:
        self._held.append((row["k"], row["v"]))
        if len(self._held) >= 4:
            self._let_go(context)

    def end_input(self, context: FunctionContext) -> None:
        self._let_go(context)

    def _let_go(self, context: FunctionContext) -> None:
        for k, v in self._held:
            context.emit({"k": k, "v": v})
        self._held.clear()


@dataclass(eq=False)
class Node:
    """One operator of the program.

    ``kind`` names it, and ``inputs`` are the operators before it. ``parallelism`` changes when the job is
    scaled.
    """

    kind: str
    number: int
    inputs: list[Node] = field(default_factory=list)
    parallelism: int = 1
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def uid(self) -> str:
        """Return the uid of the operator."""
        return f"{self.kind}-{self.number}"


class Program:
    """A program drawn from ``chance``.

    ``is_endless`` says that some source never ends, so the job is stopped with a savepoint. ``wants_more``
    returns whether sources continue to emit (see `feed`).
    """

    def __init__(
        self,
        chance: Random,
        files: Files,
        table: CommittedTable,
        wants_more: Callable[[], bool],
        oddities: Oddities,
    ) -> None:
        self._chance, self._files, self._table = chance, files, table
        self._wants_more, self._oddities = wants_more, oddities
        self.feeds: list[Feed] = []
        self.nodes: list[Node] = []
        self.is_endless = False
        self.has_legacy_induced = False
        self._draw()

    def _add(self, kind: str, *inputs: Node, **params: Any) -> Node:
        node = Node(kind, len(self.nodes), list(inputs), self._parallelism(), params)
        self.nodes.append(node)
        return node

    def _parallelism(self) -> int:
        return self._chance.choice((1, 1, 2, 2, 3, 4, 5))

    def _draw(self) -> None:
        chance = self._chance
        open_ends = [self._draw_source(n) for n in range(chance.choice((1, 1, 2, 2, 3)))]
        for _ in range(chance.randint(1, 6)):
            kind = chance.choice(
                (
                    "map",
                    "filter",
                    "flat",
                    "count",
                    "keep",
                    "buffer",
                    "window",
                    "union",
                    "pair",
                    "rules",
                    "rescale",
                )
            )
            taken = open_ends.pop(chance.randrange(len(open_ends)))
            if (kind == "window" and taken.inputs) or (kind == "buffer" and chance.random() < 0.2):
                kind = "count"  # only the times at a source do not depend on the order
            if kind in ("union", "pair", "rules"):
                other = open_ends.pop(0) if open_ends else self._draw_source(len(self.nodes))
                open_ends.append(self._add(kind, taken, other))
            else:
                open_ends.append(self._add(kind, taken, union=chance.random() < 0.3))
                if chance.random() < 0.15:
                    open_ends.append(taken)  # a second consumer
        # a legacy source cannot be drained, so no operator may wait for the end of the input
        if self.has_legacy_induced:
            for node in self.nodes:
                node.kind = {"window": "count", "buffer": "keep"}.get(node.kind, node.kind)
        for end in open_ends:
            self._add(chance.choice(("files", "files", "table")), end)
        self.chaining = chance.random() < 0.7
        # An operator that is chained to its source has no channel. A job of only such operators would send no
        # messages.
        self.chaining &= any(node.kind in SHUFFLED for node in self.nodes)

    def _draw_source(self, n: int) -> Node:
        chance = self._chance
        kind = chance.choice(("rows", "rows", "rows", "endless", "hook", "induced"))
        if kind == "hook" and self.has_legacy_induced:
            kind = "rows"
        self.is_endless |= kind in ("endless", "induced")
        self.has_legacy_induced |= kind == "hook"
        is_log = kind in ("hook", "induced")
        lengths: list[int | None] = [None if is_log else chance.choice((8, 16, 30)) for _ in range(4)]
        if not self.feeds or chance.random() < 0.6:
            lengths[-1] = None
        if not is_log:
            lengths = lengths[chance.randrange(4) :]
        feed = Feed(n, lengths, chance, self._wants_more)
        self.feeds.append(feed)
        params: dict[str, Any] = {"feed": feed, "batch": chance.choice((1, 2, 3))}
        if is_log:
            params["log"] = FedLog(feed)
        return self._add(kind, **params)

    def rescale(self) -> None:
        """Draw new parallelisms for the next life of the job."""
        for node in self.nodes:
            node.parallelism = self._parallelism()

    # -- as a job ------------------------------------------------------------------------------------------

    def graph(self, pause_ms: Callable[[], int]) -> JobGraph:
        """Return the job graph of the program."""
        env = StreamEnvironment("simulated", max_parallelism=MAX_PARALLELISM, chaining=self.chaining)
        streams: dict[Node, DataStream] = {}
        for node in self.nodes:
            streams[node] = self._stream(env, node, [streams[n] for n in node.inputs], pause_ms)
        return env.job_graph()

    def _stream(
        self, env: StreamEnvironment, node: Node, inputs: list[DataStream], pause_ms: Callable[[], int]
    ) -> DataStream:
        made = self._source(env, node, pause_ms) if not inputs else self._operator(node, inputs)
        for n, each in enumerate(made.nodes if isinstance(made, _Several) else [made.node]):
            each.parallelism = node.parallelism
            each.uid = node.uid if n == 0 else f"{node.uid}-{n}"
            each.name = node.uid if n == 0 else f"{node.uid}-{n}"
        return made

    def _source(self, env: StreamEnvironment, node: Node, pause_ms: Callable[[], int]) -> DataStream:
        params = node.params
        # The bound is so large that no row is ever late, because results must not depend on the order of
        # arrival.
        strategy = WatermarkStrategy("t", out_of_orderness_ms=1_000_000)
        if node.kind == "hook":
            source = HookSource(params["log"], node.parallelism, params["batch"], 0.01)
            return env.add_source(source, strategy)
        if node.kind == "induced":
            return env.from_source(InducedSource(params["log"], params["batch"], 0.01), strategy)
        kind = Boundedness.CONTINUOUS_UNBOUNDED if node.kind == "endless" else Boundedness.BOUNDED
        fed = FeedSource(params["feed"], params["batch"], pause_ms, kind, self._oddities)
        return env.from_source(fed, strategy)

    def _operator(self, node: Node, inputs: list[DataStream]) -> DataStream:
        first = inputs[0]
        match node.kind:
            case "map":
                return first.map(lambda row: {**row, "v": row["v"] + 1})
            case "filter":
                return first.filter(lambda row: row["v"] % 3 != 0)
            case "flat":
                return first.flat_map(lambda row: [row] * (row["k"] % 3))
            case "rescale":
                return first.rescale().map(lambda row: row)
            case "count":
                return first.key_by("k").aggregate(count(), column="v")
            case "keep":
                return first.key_by("k").process(KeepAll())
            case "buffer":
                return first.process(Buffered(node.params["union"]))
            case "window":
                return first.key_by("k").window(TumblingWindows(1000)).aggregate(count(), column="v")
            case "union":
                return first.union(inputs[1]).map(lambda row: {"k": row["k"], "v": row["v"]})
            case "pair":
                return first.key_by("k").connect(inputs[1].key_by("k")).process(Paired())
            case "rules":
                return first.connect(inputs[1].broadcast()).process(WithRules())
            case "files":
                return first.map(_plain).sink_to(TwoPhaseFileSink(f"{OUT}-{node.number}", self._files))
        return _Several(first._env, first.map(_plain).sink_to(TableSink(self._table, node.uid)))

    # -- as a model ----------------------------------------------------------------------------------------

    def expected(self) -> dict[str, Counter[tuple[int, int]]]:
        """Return for each sink the multiset of (k, v) that it must contain."""
        rows: dict[Node, list[Row]] = {}
        for node in self.nodes:
            rows[node] = self._model(node, [rows[n] for n in node.inputs])
        return {
            node.uid: Counter((row["k"], row["v"]) for row in rows[node])
            for node in self.nodes
            if node.kind in ("files", "table")
        }

    def _model(self, node: Node, inputs: list[list[Row]]) -> list[Row]:
        match node.kind:
            case "rows" | "endless" | "hook" | "induced":
                feed: Feed = node.params["feed"]
                return feed.all_rows()
            case "map":
                return [{**row, "v": row["v"] + 1} for row in inputs[0]]
            case "filter":
                return [row for row in inputs[0] if row["v"] % 3 != 0]
            case "flat":
                return [row for row in inputs[0] for _ in range(row["k"] % 3)]
            case "count" | "keep":
                return _counted(inputs[0])
            case "window":
                return _windowed(inputs[0])
            case "union":
                return inputs[0] + inputs[1]
            case "pair":
                return _counted(inputs[0] + inputs[1])
        return inputs[0]


class _Several(DataStream):
    """A sink made of several operators, all of which are scaled and named."""

    def __init__(self, env: StreamEnvironment, sink: DataStream) -> None:
        super().__init__(env, sink._edges)
        writer = sink.node
        self.nodes = [writer, *[n for n in env.nodes if n.inputs and n.inputs[0].source is writer]]


def _plain(row: Row) -> Row:
    return {"k": row["k"], "v": row["v"]}


def _counted(rows: list[Row]) -> list[Row]:
    seen: Counter[int] = Counter()
    counted = []
    for row in rows:
        seen[row["k"]] += 1
        counted.append({"k": row["k"], "v": seen[row["k"]]})
    return counted


def _windowed(rows: list[Row]) -> list[Row]:
    """Return counts per key and second of the rows' event time at their source."""
    seen = Counter((row["k"], row["t"] // 1000) for row in rows)
    return [{"k": k, "v": n} for (k, _), n in seen.items()]
