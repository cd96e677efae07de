"""Whom a checkpoint triggers when some have finished (the worked cases of FLIP-147), and what it says
then."""

from __future__ import annotations

import pytest

from pravega_lab.engine.flow.checkpoint.handles import CompletedCheckpoint
from pravega_lab.engine.flow.checkpoint.plan import TaskAck, assemble, check_finished_graph, compute_plan
from pravega_lab.engine.flow.elements import CheckpointKind, SubtaskId
from pravega_lab.engine.flow.errors import (
    CheckpointFailedError,
    PartialFinishingNotSupportedByStateError,
    Reason,
    RestoreError,
)
from pravega_lab.engine.flow.graph.graph import Exchange, JobGraph, NodeEdge, OperatorNode
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.source.sources import Boundedness
from pravega_lab.engine.flow.state.handles import Blob, ListMode, ListState, OperatorState, SubtaskState
from pravega_lab.engine.flow.subtask_states import SubtaskState as Life

ALL, POINT = Exchange.REBALANCE, Exchange.RESCALE


def graph(parallelisms: list[int], edges: list[tuple[int, int, Exchange]]) -> JobGraph:
    nodes = [OperatorNode(f"v{n}", Operator, parallelism=p) for n, p in enumerate(parallelisms)]
    for producer, consumer, exchange in edges:
        nodes[consumer].inputs.append(NodeEdge(nodes[producer], 0, exchange))
    for node in nodes:
        if not node.inputs:
            node.boundedness = Boundedness.BOUNDED
    return JobGraph("g", nodes, chaining=False)


def states(of: JobGraph, finished: dict[int, set[int]]) -> dict[SubtaskId, Life]:
    return {
        s: Life.FINISHED if s.index in finished.get(int(s.vertex[1:]), set()) else Life.RUNNING
        for s in of.subtasks()
    }


CASES = [
    ([3, 4], [(0, 1, ALL)], {}, {0: [0, 1, 2]}),
    ([3, 4], [(0, 1, ALL)], {0: {0, 1}}, {0: [2]}),
    ([4, 4], [(0, 1, POINT)], {0: {0, 1}}, {0: [2, 3], 1: [0, 1]}),
    ([4, 4], [(0, 1, POINT)], {0: {0, 1}, 1: {0}}, {0: [2, 3], 1: [1]}),
    (
        [3, 5, 5, 5],
        [(0, 3, ALL), (1, 3, POINT), (2, 3, POINT)],
        {0: {0, 1, 2}, 1: {0, 2, 3}, 2: {2, 4}, 3: {2}},
        {1: [1, 4], 2: [0, 1, 3]},
    ),
    (
        [16, 16, 16, 16, 16],
        [(0, 2, POINT), (0, 3, POINT), (1, 2, ALL), (1, 3, POINT), (2, 4, POINT), (3, 4, ALL)],
        {0: {0, 1, 2, 3}, 1: set(range(16)), 2: {0, 1}},
        {0: list(range(4, 16)), 2: [2, 3], 3: [0, 1, 2, 3]},
    ),
]


@pytest.mark.parametrize(("parallelisms", "edges", "finished", "triggered"), CASES)
def test_running_subtasks_with_nobody_running_in_front_are_the_new_sources(
    parallelisms: list[int],
    edges: list[tuple[int, int, Exchange]],
    finished: dict[int, set[int]],
    triggered: dict[int, list[int]],
) -> None:
    of = graph(parallelisms, edges)
    plan = compute_plan(of, states(of, finished), after_finish=True)
    found: dict[int, list[int]] = {}
    for subtask in plan.to_trigger:
        found.setdefault(int(subtask.vertex[1:]), []).append(subtask.index)
    assert found == triggered
    assert set(plan.to_wait_for) | set(plan.finished) == set(of.subtasks())


def test_everybody_has_to_run_or_to_have_finished() -> None:
    of = graph([1, 1], [(0, 1, ALL)])
    known = states(of, {})
    known[SubtaskId("v1", 0)] = Life.INITIALIZING
    with pytest.raises(CheckpointFailedError, match="initializing") as failed:
        compute_plan(of, known, after_finish=True)
    assert failed.value.reason is Reason.NOT_ALL_REQUIRED_TASKS_RUNNING
    with pytest.raises(CheckpointFailedError, match="after tasks finished are off"):
        compute_plan(of, states(of, {0: {0}}), after_finish=False)
    with pytest.raises(CheckpointFailedError, match="All tasks have finished"):
        compute_plan(of, dict.fromkeys(of.subtasks(), Life.FINISHED), after_finish=True)


def union_state(mode: ListMode = ListMode.UNION) -> SubtaskState:
    return SubtaskState({}, {"list": ListState(mode, (Blob("f", 0, 1, 0),))})


def acks(of: JobGraph, finished: set[int], done: set[int], mode: ListMode) -> dict[SubtaskId, TaskAck]:
    operator = of.vertex("v0").operators[0].operator_id
    found = {
        SubtaskId("v0", n): TaskAck({operator: union_state(mode)}, False, n in done)
        for n in range(3)
        if n not in finished
    }
    return {**found, SubtaskId("v1", 0): TaskAck()}


def test_union_state_is_all_or_nothing() -> None:
    of = graph([3, 1], [(0, 1, ALL)])
    for finished, done, words in (({0}, set(), "FINISHED"), (set(), {1}, "called operators' finish method")):
        plan = compute_plan(of, states(of, {0: finished}), after_finish=True)
        with pytest.raises(PartialFinishingNotSupportedByStateError, match=words):
            assemble(of, plan, acks(of, finished, done, ListMode.UNION), {})
        assemble(of, plan, acks(of, finished, done, ListMode.SPLIT), {})
    plan = compute_plan(of, states(of, {}), after_finish=True)
    for everybody_or_nobody in ({0, 1, 2}, set[int]()):
        assemble(of, plan, acks(of, set(), everybody_or_nobody, ListMode.UNION), {})


def test_what_a_checkpoint_says_of_those_that_finished() -> None:
    of = graph([3, 1], [(0, 1, ALL)])
    operator = of.vertex("v0").operators[0].operator_id
    plan = compute_plan(of, states(of, {0: {0, 2}}), after_finish=True)
    part = assemble(of, plan, acks(of, {0, 2}, set(), ListMode.SPLIT), {operator: b"c"})[operator]
    assert (part.finish_state, part.finished, list(part.subtasks)) == ("partially finished", {0, 2}, [1])
    assert part.coordinator == b"c"
    plan = compute_plan(of, states(of, {0: {0, 1, 2}}), after_finish=True)
    full = assemble(of, plan, {SubtaskId("v1", 0): TaskAck()}, {operator: b"c"})[operator]
    assert full.is_fully_finished
    assert full.coordinator is None  # dropped
    restored = {s: TaskAck({}, True, True) for s in of.subtasks()}
    plan = compute_plan(of, states(of, {}), after_finish=True)
    assert assemble(of, plan, restored, {})[operator].is_fully_finished


FULL, PART, RUNS = "fully", "partially", "running"


@pytest.mark.parametrize(
    ("exchange", "before", "behind", "is_allowed"),
    [
        (ALL, FULL, FULL, True),
        (ALL, PART, FULL, False),
        (ALL, RUNS, FULL, False),
        (POINT, PART, FULL, False),
        (ALL, FULL, PART, True),
        (ALL, PART, PART, False),
        (POINT, PART, PART, True),
        (POINT, RUNS, PART, False),
        (ALL, FULL, RUNS, True),
        (ALL, RUNS, RUNS, True),
    ],
)
def test_nothing_that_runs_is_put_in_front_of_what_finished(
    exchange: Exchange, before: str, behind: str, is_allowed: bool
) -> None:
    of = graph([2, 2], [(0, 1, exchange)])
    checkpoint = CompletedCheckpoint(5, CheckpointKind.SAVEPOINT, "g", 0, "folder")
    for vertex, state in zip(of.vertices, (before, behind), strict=True):
        operator = vertex.operators[0].operator_id
        entry = OperatorState(operator, vertex.name, vertex.name, 2, 128)
        entry.is_fully_finished = state == FULL
        entry.finished = {0} if state == PART else set()
        checkpoint.operators[operator] = entry
    if is_allowed:
        check_finished_graph(of, checkpoint)
    else:
        with pytest.raises(RestoreError, match="cannot be added before one that has finished"):
            check_finished_graph(of, checkpoint)


def test_nothing_is_chained_to_what_finished() -> None:
    of = graph([1], [])
    [vertex] = of.vertices
    [operator] = vertex.operators
    checkpoint = CompletedCheckpoint(5, CheckpointKind.SAVEPOINT, "g", 0, "folder")
    entry = OperatorState(operator.operator_id, vertex.name, vertex.name, 1, 128)
    entry.is_fully_finished = True
    checkpoint.operators[operator.operator_id] = entry
    check_finished_graph(of, checkpoint)
    vertex.operators += graph([1, 1], [(0, 1, ALL)]).vertices[1].operators
    with pytest.raises(RestoreError, match="v0: fully finished, v1: running"):
        check_finished_graph(of, checkpoint)
