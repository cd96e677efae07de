"""Decide whom a checkpoint asks and waits for when some subtasks have finished, and what it stores.

Source: FLIP-147; Flink's `DefaultCheckpointPlanCalculator`, `DefaultCheckpointPlan`,
`VertexFinishedStateChecker` (flink.md 6.2, 6.4, 6.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..elements import SubtaskId
from ..errors import CheckpointFailedError, PartialFinishingNotSupportedByStateError, Reason, RestoreError
from ..graph.graph import JobEdge, JobGraph, JobVertex
from ..state.handles import OperatorState, SubtaskState
from ..subtask_states import SubtaskState as Life
from .handles import CompletedCheckpoint


@dataclass(frozen=True)
class CheckpointPlan:
    """Who takes part in a checkpoint.

    ``to_wait_for`` are the subtasks that ran when the plan was made; they are also notified of the outcome.
    ``to_trigger`` are those of them without a running producer. ``fully_finished`` are names of vertices.
    """

    to_trigger: tuple[SubtaskId, ...]
    to_wait_for: tuple[SubtaskId, ...]
    finished: tuple[SubtaskId, ...] = ()
    fully_finished: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskAck:
    """The content of a subtask's acknowledgement: state by operator id, and how far it is with finishing."""

    states: Mapping[str, SubtaskState] = field(default_factory=dict)
    was_restored_finished: bool = False
    operators_finished: bool = False


def compute_plan(graph: JobGraph, states: Mapping[SubtaskId, Life], *, after_finish: bool) -> CheckpointPlan:
    """Return the plan that follows from the states of all subtasks at one moment.

    Raises:
        CheckpointFailedError: a subtask neither runs nor has finished; or one has finished and
            ``after_finish``
            is False; or all have finished.
    """
    finished = tuple(s for s in graph.subtasks() if states.get(s) is Life.FINISHED)
    running = tuple(s for s in graph.subtasks() if states.get(s) is Life.RUNNING)
    for subtask in graph.subtasks():
        state = states.get(subtask)
        if state not in (Life.FINISHED, Life.RUNNING):
            word = "not deployed" if state is None else state.value
            raise CheckpointFailedError(Reason.NOT_ALL_REQUIRED_TASKS_RUNNING, f"{subtask} is {word}.")
    if finished and not after_finish:
        raise CheckpointFailedError(
            Reason.NOT_ALL_REQUIRED_TASKS_RUNNING,
            f"{finished[0]} has finished, and checkpoints after tasks finished are off.",
        )
    if not running:
        raise CheckpointFailedError(Reason.NOT_ALL_REQUIRED_TASKS_RUNNING, "All tasks have finished.")
    fully = tuple(v.name for v in graph.vertices if all(states[s] is Life.FINISHED for s in v.subtasks))
    return CheckpointPlan(_to_trigger(graph, set(running)), running, finished, fully)


def _to_trigger(graph: JobGraph, running: set[SubtaskId]) -> tuple[SubtaskId, ...]:
    """Running subtasks that no running subtask is in front of."""
    return tuple(
        subtask
        for vertex in graph.vertices
        for subtask in vertex.subtasks
        if subtask in running
        and not any(_runs_before(edge, subtask.index, running) for edge in vertex.inputs)
    )


def _runs_before(edge: JobEdge, index: int, running: set[SubtaskId]) -> bool:
    producers = edge.producers_of(index) if edge.exchange.is_pointwise else range(edge.producer.parallelism)
    return any(SubtaskId(edge.producer.name, producer) in running for producer in producers)


def assemble(
    graph: JobGraph,
    plan: CheckpointPlan,
    acks: Mapping[SubtaskId, TaskAck],
    coordinators: Mapping[str, bytes],
) -> dict[str, OperatorState]:
    """Return the operators of a checkpoint that everyone has acknowledged, by operator id.

    Raises:
        PartialFinishingNotSupportedByStateError: some subtasks of an operator with union list state have
            finished.
    """
    operators: dict[str, OperatorState] = {}
    for vertex in graph.vertices:
        vertex_acks = {s.index: acks[s] for s in vertex.subtasks if s in acks}
        is_fully = vertex.name in plan.fully_finished or any(
            ack.was_restored_finished for ack in vertex_acks.values()
        )
        finished = {s.index for s in plan.finished if s.vertex == vertex.name}
        if not is_fully:
            _check_union(vertex, finished, vertex_acks)
        for operator in vertex.operators:
            key = operator.operator_id
            state = OperatorState(key, operator.name, vertex.name, vertex.parallelism, vertex.max_parallelism)
            own = {i: ack.states[key] for i, ack in vertex_acks.items() if key in ack.states}
            if is_fully:
                assert not own, f"{operator.name} is fully finished and has state of {sorted(own)}"
                state.is_fully_finished = True
            else:
                state.subtasks, state.finished = own, set(finished)
                state.coordinator = coordinators.get(key)
            operators[key] = state
    return operators


def _check_union(vertex: JobVertex, finished: set[int], acks: Mapping[int, TaskAck]) -> None:
    users = [
        operator.name
        for operator in vertex.operators
        for ack in acks.values()
        if operator.operator_id in ack.states and ack.states[operator.operator_id].uses_union
    ]
    if not users:
        return
    if finished:
        raise PartialFinishingNotSupportedByStateError(
            f"The vertex {vertex.name} (operator {users[0]}) has used UnionListState, but part of "
            f"its tasks are "
            "FINISHED."
        )
    done = sum(ack.operators_finished for ack in acks.values())
    if 0 < done < vertex.parallelism:
        raise PartialFinishingNotSupportedByStateError(
            f"The vertex {vertex.name} (operator {users[0]}) has used UnionListState, but part of "
            f"its tasks has "
            "called operators' finish method."
        )


def check_finished_graph(graph: JobGraph, checkpoint: CompletedCheckpoint) -> None:
    """Check that a new job may start from this checkpoint, given what had finished in it.

    Raises:
        RestoreError: an operator that runs would come before one that had finished; or only a part of a chain
            had finished.
    """
    states = {vertex.name: _finish_state(vertex, checkpoint) for vertex in graph.vertices}
    for vertex in graph.vertices:
        state = states[vertex.name]
        if state == "running":
            continue
        all_to_all: dict[str, bool] = {}
        for edge in vertex.inputs:
            name = edge.producer.name
            all_to_all[name] = all_to_all.get(name, False) or not edge.exchange.is_pointwise
        for name, is_all_to_all in all_to_all.items():
            before = states[name]
            needs_fully = state == "fully finished" or is_all_to_all
            if before != "fully finished" and (needs_fully or before == "running"):
                raise RestoreError(
                    f"{vertex.name} is {state} in checkpoint {checkpoint.checkpoint_id}, and {name} "
                    f"in front of it is "
                    f"{before}: an operator cannot be added before one that has finished; add it after, or "
                    "restore an earlier checkpoint"
                )


def _finish_state(vertex: JobVertex, checkpoint: CompletedCheckpoint) -> str:
    found = {}
    for operator in vertex.operators:
        state = checkpoint.operators.get(operator.operator_id)
        found[operator.name] = "running" if state is None else state.finish_state
    kinds = list(dict.fromkeys(found.values()))
    if len(kinds) > 1:
        each = ", ".join(f"{name}: {kind}" for name, kind in found.items())
        raise RestoreError(
            f"{vertex.name} has operators with mixed operator finished state ({each}): an operator "
            f"cannot be chained "
            "to one that has finished; disable chaining between them"
        )
    return kinds[0]
