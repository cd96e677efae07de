"""The newest attempt of every subtask: deployed, called, moved from state to state, and stopped.

Source: Flink's `Execution` and `ExecutionGraph` (flink.md 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pravega_lab.portable.waiting import gather

from ..checkpoint.plan import CheckpointPlan, compute_plan
from ..elements import SubtaskId
from ..graph.graph import JobGraph
from ..observer import Observer, SubtaskStateChanged
from ..source.coordinator_holder import CoordinatorHolder, Transport
from ..source.operator_coordinator import CoordinatorContext
from ..subtask_states import SubtaskState as Life
from ..subtask_states import check_move
from ..task.channels import Wire
from ..task.deployment import RestorePlan
from ..task.hosting import Running, TaskDeployer, TaskHandle, TaskHost
from ..task.subtask import Subtask


@dataclass(eq=False)
class Execution:
    """The newest attempt of a subtask; ``attempt`` is -1 before the first one."""

    attempt: int = -1
    state: Life = Life.CREATED
    handle: TaskHandle | None = None
    running: Running | None = None

    @property
    def subtask(self) -> Subtask | None:
        """Return the subtask itself if it runs in this process."""
        return self.handle if isinstance(self.handle, Subtask) else None


class Executions(Mapping[SubtaskId, Execution]):
    """The executions of a job by subtask, in the order of the graph.

    ``deployer`` and ``holders`` must be set before the first deployment. ``holders`` are the operator
    coordinators by operator id; they are notified of every attempt that begins and ends.
    """

    deployer: TaskDeployer

    def __init__(
        self, graph: JobGraph, wire: Wire, host: TaskHost, observer: Observer, now_ms: Callable[[], int]
    ) -> None:
        self.holders: dict[str, CoordinatorHolder] = {}
        self._graph, self._wire, self._host = graph, wire, host
        self._observer, self._now_ms = observer, now_ms
        self._by_id = {subtask: Execution() for subtask in graph.subtasks()}

    def __getitem__(self, id: SubtaskId) -> Execution:
        return self._by_id[id]

    def __iter__(self) -> Iterator[SubtaskId]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    # -- states --------------------------------------------------------------------------------------------

    def move(self, id: SubtaskId, state: Life, reason: str = "") -> None:
        """Change the state of a subtask and report it to the observer.

        Raises:
            IllegalStateError: the state cannot follow the present one.
        """
        execution = self._by_id[id]
        check_move(execution.state, state)
        execution.state = state
        self._observer.observe(
            SubtaskStateChanged(self._now_ms(), id, execution.attempt, state.value, reason)
        )

    def is_current(self, id: SubtaskId, attempt: int) -> bool:
        """Return whether ``attempt`` is the newest of its subtask and has not ended."""
        execution = self._by_id[id]
        return execution.attempt == attempt and not execution.state.is_terminal

    @property
    def have_all_finished(self) -> bool:
        """Return whether every subtask has finished."""
        return all(execution.state is Life.FINISHED for execution in self._by_id.values())

    def plan_checkpoint(self, *, after_finish: bool) -> CheckpointPlan:
        """Return whom a checkpoint that begins now triggers and waits for.

        Raises:
            CheckpointFailedError: a subtask does not run, or has finished and ``after_finish`` is False.
        """
        states = {id: execution.state for id, execution in self._by_id.items()}
        return compute_plan(self._graph, states, after_finish=after_finish)

    # -- deployment ----------------------------------------------------------------------------------------

    def deploy(self, ids: Sequence[SubtaskId], plan: RestorePlan) -> None:
        """Start a new attempt of each of these subtasks, from the state in ``plan``.

        They are whole regions.
        """
        for id in ids:
            execution = self._by_id[id]
            execution.attempt += 1
            execution.state = Life.CREATED
            self.move(id, Life.SCHEDULED)
            self.move(id, Life.DEPLOYING)
        attempts = {id: self._by_id[id].attempt for id in ids}
        for id, (subtask, life) in self.deployer.deploy(attempts, plan).items():
            execution = self._by_id[id]
            execution.handle = subtask
            for holder in self.holders_of(id):
                holder.attempt_ready(id.index, execution.attempt)
            execution.running = self._host.start(f"{id}#{execution.attempt}", life)

    async def stop(self, ids: Sequence[SubtaskId]) -> None:
        """Cancel the attempts of these subtasks and return when they have ended.

        Raises:
            StuckSubtaskError: an attempt has not ended in time. The others have.
        """
        running: dict[SubtaskId, Running] = {}
        for id in ids:
            execution = self._by_id[id]
            if execution.state in (Life.DEPLOYING, Life.INITIALIZING, Life.RUNNING):
                self.move(id, Life.CANCELING)
            for holder in self.holders_of(id):
                holder.attempt_failed(id.index, execution.attempt, "the attempt ended")
            if execution.running is not None:
                running[id] = execution.running
        ends = await gather(*(task.stop() for task in running.values()), return_exceptions=True)
        stuck = {id: error for id, error in zip(running, ends, strict=True) if error is not None}
        for id in ids:
            execution = self._by_id[id]
            if execution.state is Life.CANCELING and id not in stuck:
                error = None if execution.subtask is None else execution.subtask.closing_error
                reason = "" if error is None else f"it did not close cleanly: {error!r}"
                self.move(id, Life.CANCELED, reason)
        if stuck:
            raise next(iter(stuck.values()))

    def holders_of(self, id: SubtaskId) -> list[CoordinatorHolder]:
        """Return the operator coordinators of the operators in a subtask."""
        operators = self._graph.vertex(id.vertex).operators
        return [self.holders[o.operator_id] for o in operators if o.operator_id in self.holders]

    # -- calls ---------------------------------------------------------------------------------------------

    def call(self, id: SubtaskId, call: Callable[[TaskHandle], None], may_be_lost: bool = False) -> None:
        """Send a call to the present attempt of a subtask; if the attempt ends first, it is dropped."""
        attempt = self._by_id[id].attempt

        def deliver() -> None:
            subtask = self._by_id[id].handle
            if self.is_current(id, attempt) and subtask is not None:
                call(subtask)

        self._wire.call(f"master>{id}", deliver, may_be_lost=may_be_lost)

    def transport(self, vertex: str, operator_id: str) -> Transport:
        """Return what sends events of an operator coordinator to attempts, and confirms or loses them."""

        def send(index: int, attempt: int, event: Any, confirm: Callable[[bool], None]) -> None:
            id = SubtaskId(vertex, index)

            def deliver() -> None:
                is_there = self.is_current(id, attempt)
                if is_there:
                    subtask = self._by_id[id].handle
                    assert subtask is not None
                    subtask.handle_event(operator_id, event)
                confirm(is_there)

            self._wire.call(f"master>{id}", deliver)

        return send

    def sample(self) -> None:
        """Let every running attempt report its throughput and the contents of its channels."""
        now_ms = self._now_ms()
        for execution in self._by_id.values():
            if execution.handle is not None and not execution.state.is_terminal:
                execution.handle.sample(now_ms)


@dataclass(frozen=True)
class _CoordinatorContext:
    operator_id: str
    current_parallelism: int
    is_checkpointing: bool
    now_ms: Callable[[], int]
    fail_job: Callable[[BaseException], None]


def make_holders(
    graph: JobGraph,
    executions: Executions,
    now_ms: Callable[[], int],
    fail_job: Callable[[BaseException], None],
    *,
    is_checkpointing: bool,
) -> dict[str, CoordinatorHolder]:
    """Create the operator coordinators of a job, by operator id; none is started."""
    holders = {}
    for vertex, operator in graph.operators():
        make = operator.node.make_coordinator
        if make is not None:
            name = operator.operator_id
            context: CoordinatorContext = _CoordinatorContext(
                name, vertex.parallelism, is_checkpointing, now_ms, fail_job
            )
            holders[name] = CoordinatorHolder(context, make, executions.transport(vertex.name, name))
    return holders
