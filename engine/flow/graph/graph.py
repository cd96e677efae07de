"""The job graph: operators chained into vertices and joined by edges, with ids that survive a restart.

It decides what is chained, how a checkpoint names an operator, and which graphs are refused. Source: Flink's
`StreamingJobGraphGenerator` (chaining), `EdgeManagerBuildUtil` (pointwise).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import BadInputError

from ..elements import SubtaskId
from ..errors import InvalidJobGraphError
from ..source.sources import Boundedness
from ..state.keys import DEFAULT_MAX_PARALLELISM, KeySelector
from .regions import Region, connected

if TYPE_CHECKING:
    from ..operators.operator import Operator
    from ..source.master_hook import MasterHook
    from ..source.operator_coordinator import CoordinatorContext, OperatorCoordinator


class Exchange(Enum):
    """Say to which subtasks of its consumer a producer sends a record."""

    FORWARD = "forward"
    RESCALE = "rescale"
    REBALANCE = "rebalance"
    HASH = "hash"
    BROADCAST = "broadcast"
    GLOBAL = "global"

    @property
    def is_pointwise(self) -> bool:
        """Return whether a producer is connected to a part of the consumers only."""
        return self in (Exchange.FORWARD, Exchange.RESCALE)


@dataclass(eq=False)
class OperatorNode:
    """A node is one operator of the program. ``make`` returns a new operator for a subtask.

    ``parallelism`` and ``max_parallelism`` are None for the default of the graph. ``state`` is the name of
    the only state of a source or sink. It is None for operators whose functions name their states.
    """

    name: str
    make: Callable[[], Operator]
    parallelism: int | None = None
    uid: str | None = None
    max_parallelism: int | None = None
    inputs: list[NodeEdge] = field(default_factory=list)
    may_chain_to_input: bool = True
    may_chain_to_output: bool = True
    is_keyed: bool = False
    boundedness: Boundedness | None = None  # of a source
    make_coordinator: Callable[[CoordinatorContext], OperatorCoordinator] | None = None
    make_hook: Callable[[], MasterHook | None] | None = None
    check_restored: Callable[[Sequence[str]], None] | None = None  # of a source; `Source.check_restored`
    state: str | None = None

    @property
    def is_source(self) -> bool:
        """Return whether the operator is a source."""
        return self.boundedness is not None


@dataclass(eq=False)
class NodeEdge:
    """An edge leads from ``source`` to an input of the node that lists it.

    ``tag`` names a side output of ``source``.
    """

    source: OperatorNode
    input: int = 0
    exchange: Exchange | None = None  # None: forward where the parallelism is equal, else rebalance
    key: KeySelector | None = None
    tag: str | None = None


@dataclass(frozen=True)
class ChainedOperator:
    """A chained operator is one operator of a vertex, with the id of its state."""

    operator_id: str
    node: OperatorNode = field(repr=False)

    @property
    def name(self) -> str:
        """Return the name of the operator in the program."""
        return self.node.name


@dataclass(eq=False)
class JobVertex:
    """A vertex is a chain of operators that runs as one task, in ``parallelism`` subtasks."""

    name: str
    parallelism: int
    max_parallelism: int
    operators: tuple[ChainedOperator, ...]
    inputs: list[JobEdge] = field(default_factory=list)
    outputs: list[JobEdge] = field(default_factory=list)

    @property
    def is_source(self) -> bool:
        """Return whether the first operator is a source."""
        return not self.inputs

    @property
    def subtasks(self) -> list[SubtaskId]:
        """Return the subtasks by index."""
        return [SubtaskId(self.name, index) for index in range(self.parallelism)]

    def __repr__(self) -> str:
        return f"<{self.name} x{self.parallelism}>"


@dataclass(eq=False)
class JobEdge:
    """An edge connects two vertices. ``input`` is the input of the consumer's first operator."""

    producer: JobVertex
    consumer: JobVertex
    exchange: Exchange
    input: int
    key: KeySelector | None
    tag: str | None

    def consumers_of(self, index: int) -> range:
        """Return the subtasks of the consumer that producer ``index`` is connected to."""
        count = self.consumer.parallelism
        if not self.exchange.is_pointwise:
            return range(count)
        return _connected(self.producer.parallelism, count, index)

    def producers_of(self, index: int) -> list[int]:
        """Return the subtasks of the producer that consumer ``index`` is connected to."""
        return [p for p in range(self.producer.parallelism) if index in self.consumers_of(p)]


def _connected(producers: int, consumers: int, index: int) -> range:
    if producers >= consumers:
        for consumer in range(consumers):
            if consumer * producers // consumers <= index < (consumer + 1) * producers // consumers:
                return range(consumer, consumer + 1)
    start = (index * consumers + producers - 1) // producers
    return range(start, ((index + 1) * consumers + producers - 1) // producers)


class JobGraph:
    """A graph has the vertices that `job.Job` runs, in topological order.

    Raises:
        InvalidJobGraphError: there is a cycle, no source, a uid used twice, a parallelism below 1 or above
            the number
            of key groups, or a forward edge between different parallelisms.
    """

    def __init__(
        self,
        name: str,
        nodes: Sequence[OperatorNode],
        *,
        parallelism: int = 1,
        max_parallelism: int = DEFAULT_MAX_PARALLELISM,
        chaining: bool = True,
    ) -> None:
        self.name = name
        self._default = parallelism
        self._max_default = max_parallelism
        ordered = _topological(nodes)
        if not any(node.is_source for node in ordered):
            raise InvalidJobGraphError(f"job {name!r} has no source: begin with from_source(...)")
        for node in ordered:
            self._check_parallelism(node)
        ids = _operator_ids(ordered)
        self.vertices = self._chained(ordered, ids, chaining)
        self._by_name = {vertex.name: vertex for vertex in self.vertices}
        self._regions = connected(self.subtasks(), [*self._channels(), *self._hooked()])
        self._region_of = {subtask: region for region in self._regions for subtask in region}

    def vertex(self, name: str) -> JobVertex:
        """Return the vertex of that name.

        Raises:
            KeyError: there is none.
        """
        return self._by_name[name]

    def operators(self) -> Iterator[tuple[JobVertex, ChainedOperator]]:
        """Yield every operator with its vertex, in topological order."""
        for vertex in self.vertices:
            for operator in vertex.operators:
                yield vertex, operator

    def subtasks(self) -> list[SubtaskId]:
        """Return all subtasks, in the order of the vertices."""
        return [subtask for vertex in self.vertices for subtask in vertex.subtasks]

    def regions(self) -> list[Region]:
        """Return the regions: subtasks that fail over together, because channels connect them.

        Sources with a master hook are one region in addition, unlike in Flink. Every recovery resets the
        external systems of all hooks, so the readers of other regions would fail, and their recovery would
        reset the systems again, without end. Regions and their subtasks are in the order of the graph.
        """
        return list(self._regions)

    def region_of(self, subtask: SubtaskId) -> Region:
        """Return the region of a subtask."""
        return self._region_of[subtask]

    def _channels(self) -> Iterator[tuple[SubtaskId, SubtaskId]]:
        """Yield pairs that connect the same subtasks as all channels together."""
        for edge in [edge for vertex in self.vertices for edge in vertex.inputs]:
            producers, consumers = edge.producer.subtasks, edge.consumer.subtasks
            if edge.exchange.is_pointwise:
                yield from ((p, consumers[index]) for p in producers for index in edge.consumers_of(p.index))
            else:
                yield from ((producer, consumers[0]) for producer in producers)
                yield from ((producers[0], consumer) for consumer in consumers)

    def _hooked(self) -> Iterator[tuple[SubtaskId, SubtaskId]]:
        """Yield pairs that connect the subtasks of all sources with a master hook."""
        hooked = [s for v in self.vertices if any(o.node.make_hook for o in v.operators) for s in v.subtasks]
        yield from ((hooked[0], subtask) for subtask in hooked)

    @property
    def is_bounded(self) -> bool:
        """Return whether every source ends."""
        sources = [op.node for _, op in self.operators() if op.node.is_source]
        return all(node.boundedness is Boundedness.BOUNDED for node in sources)

    def unbounded_sources(self) -> list[str]:
        """Return the names of the sources that do not end."""
        return [
            op.name for _, op in self.operators() if op.node.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
        ]

    # -- building it ---------------------------------------------------------------------------------------

    def parallelism_of(self, node: OperatorNode) -> int:
        """Return the parallelism of a node, or the default of the graph."""
        return self._default if node.parallelism is None else node.parallelism

    def max_parallelism_of(self, node: OperatorNode) -> int:
        """Return the number of key groups of a node, or the default of the graph."""
        return self._max_default if node.max_parallelism is None else node.max_parallelism

    def _check_parallelism(self, node: OperatorNode) -> None:
        parallelism, most = self.parallelism_of(node), self.max_parallelism_of(node)
        if not parallelism >= 1:
            raise InvalidJobGraphError(f"{node.name}: parallelism is {parallelism}, but must be at least 1")
        if parallelism > most:
            raise InvalidJobGraphError(
                f"{node.name}: parallelism {parallelism} is above its max parallelism {most}: there are "
                f"{most} key groups, and each has one owner; lower the parallelism, or raise max_parallelism "
                "(the job can then not restore its earlier state)"
            )
        for edge in node.inputs:
            wants = edge.exchange
            if wants is Exchange.FORWARD and self.parallelism_of(edge.source) != parallelism:
                raise InvalidJobGraphError(
                    f"forward from {edge.source.name} (parallelism {self.parallelism_of(edge.source)}) to "
                    f"{node.name} ({parallelism}): use rescale or rebalance, or equal parallelism"
                )

    def exchange_of(self, edge: NodeEdge, target: OperatorNode) -> Exchange:
        """Return the exchange of an edge.

        The default is forward for equal parallelisms, and else rebalance.
        """
        if edge.exchange is not None:
            return edge.exchange
        same = self.parallelism_of(edge.source) == self.parallelism_of(target)
        return Exchange.FORWARD if same else Exchange.REBALANCE

    def _chained(
        self, ordered: list[OperatorNode], ids: dict[OperatorNode, str], chaining: bool
    ) -> list[JobVertex]:
        uses = Counter(edge.source for node in ordered for edge in node.inputs)
        chains: dict[OperatorNode, list[OperatorNode]] = {}
        for node in ordered:
            head = node
            if chaining and self._is_chained(node, uses):
                head = next(h for h, members in chains.items() if node.inputs[0].source in members)
            chains.setdefault(head, []).append(node)
        vertices: dict[OperatorNode, JobVertex] = {}
        names: Counter[str] = Counter()
        for head, members in chains.items():
            name = " → ".join(member.name for member in members)
            names[name] += 1
            if names[name] > 1:
                name = f"{name} #{names[name]}"
            operators = tuple(ChainedOperator(ids[member], member) for member in members)
            vertex = JobVertex(name, self.parallelism_of(head), self.max_parallelism_of(head), operators)
            vertices.update(dict.fromkeys(members, vertex))
        for head in chains:
            for edge in head.inputs:
                joined = JobEdge(
                    vertices[edge.source],
                    vertices[head],
                    self.exchange_of(edge, head),
                    edge.input,
                    edge.key,
                    edge.tag,
                )
                vertices[head].inputs.append(joined)
                vertices[edge.source].outputs.append(joined)
        return [vertices[head] for head in chains]

    def _is_chained(self, node: OperatorNode, uses: Counter[OperatorNode]) -> bool:
        """Return whether the node runs in the task of its producer: both have no other edge between tasks."""
        if len(node.inputs) != 1 or not node.may_chain_to_input:
            return False
        [edge] = node.inputs
        return (
            uses[edge.source] == 1
            and edge.tag is None
            and edge.source.may_chain_to_output
            and self.exchange_of(edge, node) is Exchange.FORWARD
            and self.parallelism_of(edge.source) == self.parallelism_of(node)
            and self.max_parallelism_of(edge.source) == self.max_parallelism_of(node)
        )


def _topological(nodes: Sequence[OperatorNode]) -> list[OperatorNode]:
    """Return the nodes in the order of flow, also those that are reachable only through inputs."""
    ordered: list[OperatorNode] = []
    path: list[OperatorNode] = []

    def visit(node: OperatorNode) -> None:
        if node in ordered:
            return
        if node in path:
            cycle = " → ".join(n.name for n in [*path[path.index(node) :], node][::-1])
            raise InvalidJobGraphError(
                f"the graph has a cycle: {cycle}; checkpoints are consistent on graphs without one only"
            )
        path.append(node)
        for edge in node.inputs:
            visit(edge.source)
        path.pop()
        ordered.append(node)

    for node in nodes:
        visit(node)
    return ordered


def _operator_ids(ordered: list[OperatorNode]) -> dict[OperatorNode, str]:
    """Return the uid of each node, or an id derived from its place, which an equal program has too."""
    ids: dict[OperatorNode, str] = {}
    owners: dict[str, OperatorNode] = {}
    for position, node in enumerate(ordered):
        if node.uid is not None:
            if not node.uid.strip():
                raise InvalidJobGraphError(f"{node.name}: the uid is blank")
            if node.uid in owners:
                raise InvalidJobGraphError(
                    f"uid {node.uid!r} is used twice, by {owners[node.uid].name} and by {node.name}: "
                    "it names the state of one operator"
                )
            ids[node] = node.uid
        else:
            above = ",".join(ids[edge.source] for edge in node.inputs)
            ids[node] = "gen-" + hashlib.sha256(f"{position}|{node.name}|{above}".encode()).hexdigest()[:12]
        owners[ids[node]] = node
    return ids


def hook_ids(hooks: Sequence[Any]) -> list[str]:
    """Return the identifiers of master hooks.

    Raises:
        InvalidJobGraphError: one of them is blank.
    """
    ids = [hook.identifier for hook in hooks]
    for identifier in ids:
        if not identifier or not identifier.strip():
            raise InvalidJobGraphError(
                "a master hook has a blank identifier, which names its state in checkpoints: give it a name"
            )
    return ids


def check_graph(graph: object) -> None:
    """Raise `BadInputError` for what is no graph, such as the environment that makes one."""
    if not isinstance(graph, JobGraph):
        raise BadInputError(
            f"a job runs a JobGraph, not a {type(graph).__name__}: give what env.job_graph() returns"
        )
