"""Whom a checkpoint asks and waits for when some subtasks have finished, and what it says about them.

Source: FLIP-147; Flink's `DefaultCheckpointPlanCalculator`, `DefaultCheckpointPlan`,
`VertexFinishedStateChecker`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.errors import RestoreError
from pravega_lab.engine.flow.failures import (
    CheckpointFailedError,
    PartialFinishingNotSupportedByStateError,
    Reason,
)
from pravega_lab.engine.flow.graph import JobEdge, JobGraph, JobVertex
from pravega_lab.engine.flow.handles import CompletedCheckpoint, OperatorState, SubtaskState
from pravega_lab.engine.flow.life import SubtaskState as Life


@dataclass(frozen=True)
class CheckpointPlan:
    """``to_wait_for`` are told of the end too: those that ran when the plan was made."""

    to_trigger: tuple[SubtaskId, ...]
    to_wait_for: tuple[SubtaskId, ...]
    finished: tuple[SubtaskId, ...] = ()
    fully_finished: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskAck:
    """What a subtask's acknowledgement says: state by operator id, and how far it is with finishing."""

    states: Mapping[str, SubtaskState] = field(default_factory=dict)
    was_restored_finished: bool = False
    operators_finished: bool = False


def compute_plan(graph: JobGraph, states: Mapping[SubtaskId, Life], *, after_finish: bool) -> CheckpointPlan:
    """From one picture of all subtasks.

    Raises:
        CheckpointFailedError: some neither run nor have finished; or some have finished and
        ``after_finish`` is off.
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
    """The operators of a checkpoint that everybody has acknowledged.

    Raises:
        PartialFinishingNotSupportedByStateError: union list state of which a part has finished.
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
    """May a new job begin from this checkpoint, with what had finished in it?

    Raises:
        RestoreError: an operator that runs would be in front of one that had finished; or only a part of a
        chain
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
                    f"{before}: an operator cannot be added before one that has finished; add it behind, or "
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
