"""Create the subtasks of a job graph: channels between them, and operators with their restored state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..cancelling import is_to_be_explained
from ..checkpoint.alignment import AlignedBarriers, BarrierTracker
from ..checkpoint.handles import CompletedCheckpoint
from ..checkpoint.storage import BlobReader
from ..elements import SubtaskId
from ..errors import DamagedCheckpointError, RestoreError, UserFunctionError
from ..graph.graph import ChainedOperator, JobEdge, JobGraph, JobVertex, OperatorNode
from ..observer import Observer
from ..operators.operator import Operator, OperatorContext
from ..source.input import FinishedSourceInput, LegacyInput, Rendezvous, SourceInput, UnmetTriggers
from ..source.source_operator import LegacySourceOperator, SourceOperator
from ..state import plain_values as plain
from ..state.handles import OperatorState, SubtaskState
from ..state.keys import key_group_range
from ..state.rescale import redistribute
from ..state.state import KeyedState, OperatorLists
from ..subtask_states import SubtaskState as Life
from ..time.timers import TimerService
from .chain import Chain
from .channels import Channel, EdgeWriter, Wire
from .subtask import MasterGateway, Subtask, SubtaskSettings
from .task_input import GateInput, TaskInput


@dataclass
class RestorePlan:
    """What subtasks restore. ``owns_files``: later checkpoints may refer to the restored files."""

    checkpoint_id: int = -1
    owns_files: bool = True
    states: dict[tuple[str, int], SubtaskState] = field(default_factory=dict)  # (operator id, subtask)
    known: set[str] = field(default_factory=set)  # operators that the checkpoint has
    finished: set[str] = field(default_factory=set)  # vertices that had finished
    finished_operators: set[str] = field(default_factory=set)  # their operators


def plan_restore(
    graph: JobGraph,
    checkpoint: CompletedCheckpoint | None,
    *,
    owns_files: bool = True,
    allow_non_restored_state: bool = False,
) -> RestorePlan:
    """Return what each subtask of ``graph`` restores from ``checkpoint``, nothing if that is None.

    Raises:
        RestoreError: the checkpoint has state of an operator that the job does not have, or has of another
            kind, or another number of key groups.
    """
    if checkpoint is None:
        return RestorePlan()
    plan = RestorePlan(checkpoint.checkpoint_id, owns_files)
    ours = {operator.operator_id: (vertex, operator.node) for vertex, operator in graph.operators()}
    for operator_id, state in checkpoint.operators.items():
        if operator_id not in ours:
            has_state = any(part.keyed or part.lists for part in state.subtasks.values())
            if has_state and not allow_non_restored_state:
                raise RestoreError(
                    f"checkpoint {checkpoint.checkpoint_id} has state of operator {operator_id!r} "
                    f"({state.name}), "
                    f"which job {graph.name!r} does not have: give the operator its old uid, or "
                    f"drop the state "
                    "with allow_non_restored_state=True"
                )
            continue
        vertex, node = ours[operator_id]
        drops_keyed = not node.is_keyed and any(part.keyed for part in state.subtasks.values())
        if drops_keyed and not allow_non_restored_state:
            raise RestoreError(
                f"checkpoint {checkpoint.checkpoint_id} has keyed state of operator {operator_id!r} "
                f"({state.name}), which is not keyed in job {graph.name!r}: give each operator its old uid, "
                "or drop the state with allow_non_restored_state=True"
            )
        other = _other_states(node, state)
        if other and not allow_non_restored_state:
            raise RestoreError(
                f"checkpoint {checkpoint.checkpoint_id} has state {', '.join(map(repr, other))} of operator "
                f"{operator_id!r} ({state.name}), which job {graph.name!r} does not read: its source or sink "
                "of this uid is of another kind. Resume with the one that it was taken with, or drop the "
                "state with allow_non_restored_state=True: a source then begins again, and what a sink has "
                "not committed is lost"
            )
        plan.known.add(operator_id)
        if state.is_fully_finished:
            plan.finished.add(vertex.name)
            plan.finished_operators.add(operator_id)
            continue
        for index, part in enumerate(redistribute(state, vertex.parallelism, vertex.max_parallelism)):
            lists = {name: values for name, values in part.lists.items() if name not in other}
            kept = replace(part, lists=lists)
            plan.states[operator_id, index] = replace(kept, keyed={}, kinds={}) if drops_keyed else kept
    return plan


def _other_states(node: OperatorNode, state: OperatorState) -> list[str]:
    """Return the names of the states that a source or sink would not read."""
    lists = [item for part in state.subtasks.values() for item in part.lists.items()]
    own = node.state
    return list(dict.fromkeys(name for name, values in lists if values.elements and own not in (None, name)))


@dataclass
class Deployer:
    """Creates subtasks in this process. Its fields are the same for all subtasks of a job."""

    graph: JobGraph
    wire: Wire
    gateway: MasterGateway
    observer: Observer
    now_ms: Callable[[], int]
    unique_id: Callable[[], str]
    capacity: int
    is_exactly_once: bool
    base: SubtaskSettings

    def deploy(
        self,
        attempts: Mapping[SubtaskId, int],
        plan: RestorePlan,
        *,
        elsewhere: Collection[SubtaskId] = (),
    ) -> dict[SubtaskId, tuple[Subtask, Coroutine[Any, Any, None]]]:
        """Create subtasks; see `hosting.TaskDeployer`.

        ``elsewhere`` are subtasks of the same regions that run in other processes.
        """
        made = self.make(attempts, plan, elsewhere=elsewhere)
        return {
            id: (subtask, self._live(subtask, operators, plan)) for id, (subtask, operators) in made.items()
        }

    async def _live(self, subtask: Subtask, operators: Sequence[Operator], plan: RestorePlan) -> None:
        try:
            await self.load(subtask.id, operators, plan)
        except Exception as error:
            self.gateway.state_changed(subtask.id, subtask.attempt, Life.FAILED, error)
            return
        await subtask.run()

    def make(
        self,
        attempts: Mapping[SubtaskId, int],
        plan: RestorePlan,
        *,
        elsewhere: Collection[SubtaskId] = (),
    ) -> dict[SubtaskId, tuple[Subtask, list[Operator]]]:
        """Create subtasks and their channels. The operators have no state yet."""
        together = {*attempts, *elsewhere}
        vertices = [v for v in self.graph.vertices if any(id in together for id in v.subtasks)]
        incoming: dict[SubtaskId, list[Channel]] = {}
        outgoing: dict[SubtaskId, list[EdgeWriter]] = {}
        for vertex in vertices:
            for edge in vertex.inputs:
                self._connect(edge, together, incoming, outgoing)
        made = {}
        for vertex in vertices:
            for id in (id for id in vertex.subtasks if id in attempts):
                made[id] = self._subtask(vertex, id, attempts[id], plan, incoming, outgoing)
        return made

    def _connect(
        self,
        edge: JobEdge,
        together: Collection[SubtaskId],
        incoming: dict[SubtaskId, list[Channel]],
        outgoing: dict[SubtaskId, list[EdgeWriter]],
    ) -> None:
        for producer in [id for id in edge.producer.subtasks if id in together]:
            channels = []
            for index in edge.consumers_of(producer.index):
                consumer = SubtaskId(edge.consumer.name, index)
                mine = incoming.setdefault(consumer, [])
                channel = self.channel(producer, consumer, edge.input, len(mine))
                mine.append(channel)
                channels.append(channel)
            outgoing.setdefault(producer, []).append(EdgeWriter(edge, producer.index, channels))

    def channel(self, producer: SubtaskId, consumer: SubtaskId, input: int, index: int) -> Channel:
        """Create a channel. A deployer for several processes makes it cross between them."""
        return Channel(producer, consumer, input, index, self.capacity, self.wire)

    def _subtask(
        self,
        vertex: JobVertex,
        id: SubtaskId,
        attempt: int,
        plan: RestorePlan,
        incoming: Mapping[SubtaskId, list[Channel]],
        outgoing: Mapping[SubtaskId, list[EdgeWriter]],
    ) -> tuple[Subtask, list[Operator]]:
        coordinated = tuple(o.operator_id for o in vertex.operators if o.node.make_coordinator is not None)
        base = self.base
        settings = SubtaskSettings(
            base.files,
            base.shared_folder,
            base.is_checkpointing,
            base.after_tasks_finish,
            base.rules,
            base.take_turn,
            plan.checkpoint_id,
            coordinated,
        )
        writers = outgoing.get(id, [])
        tags = {n: writer.edge.tag for n, writer in enumerate(writers)}
        subtask = Subtask(id, attempt, settings, self.gateway, writers, tags, self.observer, self.now_ms)
        operators = [_made(chained) for chained in vertex.operators]
        for chained, operator in zip(vertex.operators, operators, strict=True):
            operator.setup(self._context(vertex, chained.operator_id, chained.name, subtask, plan))
        subtask.chain = Chain(operators, subtask.out, is_finished=vertex.name in plan.finished)
        subtask.input = self._input(subtask, operators[0], incoming.get(id, []))
        return subtask, operators

    def _context(
        self, vertex: JobVertex, operator_id: str, name: str, subtask: Subtask, plan: RestorePlan
    ) -> OperatorContext:
        from ..operators.operator import Collector

        groups = key_group_range(vertex.max_parallelism, vertex.parallelism, subtask.id.index)
        keyed = KeyedState(vertex.max_parallelism, groups)
        id, attempt = subtask.id, subtask.attempt
        return OperatorContext(
            operator_id,
            name,
            id,
            attempt,
            vertex.parallelism,
            vertex.max_parallelism,
            keyed,
            OperatorLists(),
            TimerService(keyed),
            Collector(),
            self.now_ms,
            self.unique_id,
            send_to_coordinator=lambda event: self.gateway.operator_event(id, attempt, operator_id, event),
            schedule=subtask.schedule,
            fail=subtask.fail,
            observer=self.observer,
            is_checkpointing=self.base.is_checkpointing,
            restored_checkpoint=plan.checkpoint_id if plan.checkpoint_id >= 0 else None,
            has_restored_state=operator_id in plan.known,
            commits_at_close=self.base.rules.commits_at_close,
        )

    def _input(self, subtask: Subtask, head: Operator, channels: list[Channel]) -> TaskInput:
        if channels:
            kind = AlignedBarriers if self.is_exactly_once else BarrierTracker
            after_end = self.base.after_tasks_finish
            return GateInput(subtask, channels, kind(len(channels), checkpoints_after_end=after_end))
        if subtask.chain.is_finished:
            return FinishedSourceInput(subtask)
        if isinstance(head, SourceOperator):
            meets = self.base.rules.meets_triggers
            return SourceInput(subtask, head, Rendezvous() if meets else UnmetTriggers(self.now_ms))
        assert isinstance(head, LegacySourceOperator)
        return LegacyInput(subtask, head)

    async def load(self, id: SubtaskId, operators: Sequence[Operator], plan: RestorePlan) -> None:
        """Read the state of one subtask into its operators.

        Raises:
            DamagedCheckpointError: a file is missing or damaged, or is no state of this engine.
        """
        reader = BlobReader(self.base.files)
        for operator in operators:
            context = operator.context
            state = plan.states.get((context.operator_id, id.index))
            if state is None:
                continue
            context.keyed.restore_kinds(state.kinds)
            for group, blob in state.keyed.items():
                context.keyed.restore(group, await reader.read(blob), blob if plan.owns_files else None)
            for name, lists in state.lists.items():
                values = context.lists.of(name, lists.mode)
                values.extend([plain.from_bytes(await reader.read(blob)) for blob in lists.elements])
            try:
                context.timers.restore(of_windows=operator.has_windows)
            except RestoreError as error:
                raise RestoreError(f"{context.name}: {error}") from error
            except (TypeError, ValueError) as error:
                raise DamagedCheckpointError(
                    f"{context.name}, subtask {id.index}: the timers in its state are damaged: {error}"
                ) from error


def _made(chained: ChainedOperator) -> Operator:
    try:
        return chained.node.make()
    except BaseException as error:
        if not is_to_be_explained(error):
            raise
        raise UserFunctionError(
            f"{chained.name} cannot be created ({type(error).__name__}: {error}): each subtask gets a copy "
            "of its functions, so create what cannot be copied, such as a lock or a client, in open()"
        ) from error
