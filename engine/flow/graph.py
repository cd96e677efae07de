"""The job graph: operators chained into vertices, joined by edges, with ids that outlive a restart.

Decides what is chained, what an operator is called in a checkpoint, and which graphs are refused.
Source: Flink's `StreamingJobGraphGenerator` (chaining), `EdgeManagerBuildUtil` (pointwise).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.errors import InvalidJobGraphError
from pravega_lab.engine.flow.keys import DEFAULT_MAX_PARALLELISM, KeySelector
from pravega_lab.engine.flow.sources import Boundedness

if TYPE_CHECKING:
    from pravega_lab.engine.flow.hooks import MasterHook
    from pravega_lab.engine.flow.operator import Operator
    from pravega_lab.engine.flow.operator_coordinator import CoordinatorContext, OperatorCoordinator


class Exchange(Enum):
    """How records of one producer find their consumer."""

    FORWARD = "forward"
    RESCALE = "rescale"
    REBALANCE = "rebalance"
    HASH = "hash"
    BROADCAST = "broadcast"
    GLOBAL = "global"

    @property
    def is_pointwise(self) -> bool:
        return self in (Exchange.FORWARD, Exchange.RESCALE)


@dataclass(eq=False)
class OperatorNode:
    """One operator of the program; ``make`` gives a fresh one for a subtask.

    ``parallelism`` None: the graph's default.
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

    @property
    def is_source(self) -> bool:
        return self.boundedness is not None


@dataclass(eq=False)
class NodeEdge:
    """From ``source`` into input ``input`` of the node that lists it. ``tag``: of a side output."""

    source: OperatorNode
    input: int = 0
    exchange: Exchange | None = None  # None: forward where the parallelism is equal, else rebalance
    key: KeySelector | None = None
    tag: str | None = None


@dataclass(frozen=True)
class ChainedOperator:
    """One operator of a vertex."""

    operator_id: str
    node: OperatorNode = field(repr=False)

    @property
    def name(self) -> str:
        return self.node.name


@dataclass(eq=False)
class JobVertex:
    """A chain of operators that runs as one task, in ``parallelism`` subtasks."""

    name: str
    parallelism: int
    max_parallelism: int
    operators: tuple[ChainedOperator, ...]
    inputs: list[JobEdge] = field(default_factory=list)
    outputs: list[JobEdge] = field(default_factory=list)

    @property
    def is_source(self) -> bool:
        return not self.inputs

    @property
    def subtasks(self) -> list[SubtaskId]:
        return [SubtaskId(self.name, index) for index in range(self.parallelism)]

    def __repr__(self) -> str:
        return f"<{self.name} x{self.parallelism}>"


@dataclass(eq=False)
class JobEdge:
    """Between two vertices. ``input``: of the consumer's first operator."""

    producer: JobVertex
    consumer: JobVertex
    exchange: Exchange
    input: int
    key: KeySelector | None
    tag: str | None

    def consumers_of(self, index: int) -> range:
        """Subtasks of the consumer that producer ``index`` is connected to."""
        count = self.consumer.parallelism
        if not self.exchange.is_pointwise:
            return range(count)
        return _connected(self.producer.parallelism, count, index)

    def producers_of(self, index: int) -> list[int]:
        """Subtasks of the producer that consumer ``index`` is connected to."""
        return [p for p in range(self.producer.parallelism) if index in self.consumers_of(p)]


def _connected(producers: int, consumers: int, index: int) -> range:
    if producers >= consumers:
        for consumer in range(consumers):
            if consumer * producers // consumers <= index < (consumer + 1) * producers // consumers:
                return range(consumer, consumer + 1)
    start = (index * consumers + producers - 1) // producers
    return range(start, ((index + 1) * consumers + producers - 1) // producers)


class JobGraph:
    """What `job.Job` runs: vertices in topological order.

    Raises:
        InvalidJobGraphError: a cycle, no source, a uid or a hook twice, a parallelism below 1 or above the
        key
            groups, a forward edge between different parallelisms.
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

    def vertex(self, name: str) -> JobVertex:
        return self._by_name[name]

    def operators(self) -> Iterator[tuple[JobVertex, ChainedOperator]]:
        for vertex in self.vertices:
            for operator in vertex.operators:
                yield vertex, operator

    def subtasks(self) -> list[SubtaskId]:
        return [subtask for vertex in self.vertices for subtask in vertex.subtasks]

    def regions(self) -> list[list[JobVertex]]:
        """Vertices that fail over together: all that are connected."""
        region = {vertex.name: n for n, vertex in enumerate(self.vertices)}
        for vertex in self.vertices:
            for edge in vertex.inputs:
                old, new = region[edge.producer.name], region[vertex.name]
                region = {name: new if number == old else number for name, number in region.items()}
        numbers = dict.fromkeys(region.values())
        return [[v for v in self.vertices if region[v.name] == number] for number in numbers]

    @property
    def is_bounded(self) -> bool:
        sources = [op.node for _, op in self.operators() if op.node.is_source]
        return all(node.boundedness is Boundedness.BOUNDED for node in sources)

    def unbounded_sources(self) -> list[str]:
        return [
            op.name for _, op in self.operators() if op.node.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
        ]

    # -- making it -----------------------------------------------------------------------------------------

    def parallelism_of(self, node: OperatorNode) -> int:
        return self._default if node.parallelism is None else node.parallelism

    def max_parallelism_of(self, node: OperatorNode) -> int:
        return self._max_default if node.max_parallelism is None else node.max_parallelism

    def _check_parallelism(self, node: OperatorNode) -> None:
        parallelism, most = self.parallelism_of(node), self.max_parallelism_of(node)
        if not parallelism >= 1:
            raise InvalidJobGraphError(f"{node.name}: parallelism {parallelism}; at least 1")
        if parallelism > most:
            raise InvalidJobGraphError(
                f"{node.name}: parallelism {parallelism} is above its max parallelism {most}: there "
                f"are {most} key "
                "groups and each has one owner; raise max_parallelism (which ends restoring older state) or "
                "lower the parallelism"
            )
        for edge in node.inputs:
            wants = edge.exchange
            if wants is Exchange.FORWARD and self.parallelism_of(edge.source) != parallelism:
                raise InvalidJobGraphError(
                    f"forward from {edge.source.name} (parallelism {self.parallelism_of(edge.source)}) to "
                    f"{node.name} ({parallelism}): use rescale or rebalance, or equal parallelism"
                )

    def exchange_of(self, edge: NodeEdge, target: OperatorNode) -> Exchange:
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
        """Runs in the task of its only producer, whose only consumer it is."""
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
    """In order of flow, otherwise as given; also what is only reachable through inputs."""
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
    """The uid where there is one; else made from the place in the graph, so that an equal program has it
    too."""
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
    """Identifiers of master hooks, checked for blanks."""
    ids = [hook.identifier for hook in hooks]
    for identifier in ids:
        if not identifier or not identifier.strip():
            raise InvalidJobGraphError(
                "a master hook has a blank identifier: it names its state in checkpoints"
            )
    return ids
