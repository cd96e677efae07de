"""Run a bounded program in batch execution: stage by stage, with whole and sorted inputs.

There are no checkpoints and no notifications. Keyed inputs are sorted by key, and by event time within a key,
so only one key is in memory at a time. The last watermark comes at the end of each key, and timers fire
there. Rolling aggregates emit their last value only. A stage that fails runs again on the output of the
stages before it.

Source: Flink's `RuntimeExecutionMode.BATCH`; FLIP-134, FLIP-140.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.portable.columns import np
from pravega_lab.portable.waiting import FIRST_COMPLETED, gather, wait

from ..batch import Batch, RowKind, concatenated
from ..elements import MAX_TIMESTAMP_MS, MAX_WATERMARK, Element, SubtaskId, Watermark, WatermarkStatus
from ..errors import JobFailedError
from ..graph.graph import Exchange, JobEdge, JobGraph, JobVertex, check_graph
from ..observer import NoObserver, Observer, SubtaskStateChanged
from ..operators.operator import Collector, Operator, OperatorContext, RuntimeMode
from ..sink.two_phase import TwoPhaseCommitOperator
from ..source.coordinator import SourceCoordinator
from ..source.events import RequestSplit
from ..source.operator_coordinator import NO_CHECKPOINT
from ..source.source_operator import LegacySourceOperator, SourceOperator
from ..source.sources import InputStatus
from ..state.keys import Key, KeySelector, key_group_range
from ..state.state import KeyedState, OperatorLists
from ..task.chain import Chain
from ..task.channels import Channel, EdgeWriter
from ..task.hosting import LocalWire
from ..time.timers import TimerService
from .config import JobConfig, check_config
from .job import run_alone

Stage = dict[tuple[SubtaskId, int], list[Batch]]  # what lies at a subtask's input


def resolve_mode(graph: JobGraph, mode: RuntimeMode) -> RuntimeMode:
    """Return how a graph is executed: AUTOMATIC means batch if all its sources are bounded.

    Raises:
        BadInputError: batch execution is asked for, and a source never ends.
    """
    if mode is RuntimeMode.AUTOMATIC:
        return RuntimeMode.BATCH if graph.is_bounded else RuntimeMode.STREAMING
    if mode is RuntimeMode.BATCH and not graph.is_bounded:
        raise BadInputError(
            f"source {graph.unbounded_sources()[0]!r} never ends, and batch execution needs all of "
            f"its input: "
            "bound the source, or run in streaming mode"
        )
    return mode


class BatchRunner:
    """Runs a graph of bounded sources once, stage by stage, on sorted input.

    Nothing in ``config`` about checkpoints and restarts applies. ``observer`` sees what the subtasks do.
    ``now_ms`` is the clock of the functions, in ms. ``unique_id`` names transactions. ``attempts``: how often
    a stage is tried.

    Raises:
        BadInputError: a source never ends or has the legacy form, or a sink commits only at checkpoints.
    """

    def __init__(
        self,
        graph: JobGraph,
        config: JobConfig | None = None,
        *,
        observer: Observer | None = None,
        now_ms: Callable[[], int] = lambda: 0,
        unique_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        attempts: int = 1,
    ) -> None:
        check_graph(graph)
        resolve_mode(graph, RuntimeMode.BATCH)
        self._graph, self._config = graph, config or JobConfig(checkpoints=None)
        check_config(self._config)
        self._observer: Observer = observer or NoObserver()
        self._now_ms, self._unique_id, self._attempts = now_ms, unique_id, attempts
        self._inputs: Stage = {}
        self._refuse_what_never_commits()

    def _refuse_what_never_commits(self) -> None:
        for _, operator in self._graph.operators():
            made = operator.node.make()
            if isinstance(made, TwoPhaseCommitOperator):
                raise BadInputError(
                    f"{operator.name} commits when a checkpoint is complete, and batch execution has none: "
                    "use a Sink with a committer, which commits at the end of its input"
                )
            if isinstance(made, LegacySourceOperator):
                raise BadInputError(
                    f"{operator.name} is a source of the legacy form: batch execution reads a Source only"
                )

    async def run(self) -> None:
        """Run the stages in topological order. Each stage reads what the stages before it have stored.

        Raises:
            JobFailedError: a stage failed as often as it may; the cause is its last failure.
        """
        for vertex in self._graph.vertices:
            await self._run_stage(vertex)

    async def _run_stage(self, vertex: JobVertex) -> None:
        for attempt in range(self._attempts):
            outputs: Stage = {}
            try:
                if vertex.is_source:
                    await self._run_sources(vertex, attempt, outputs)
                else:
                    for id in vertex.subtasks:
                        await self._run_subtask(vertex, id, attempt, outputs)
            except Exception as error:
                if attempt + 1 == self._attempts:
                    raise JobFailedError(f"stage {vertex.name} failed: {error}") from error
                continue
            for at, batches in outputs.items():
                self._inputs.setdefault(at, []).extend(batches)
            return

    # -- one subtask ---------------------------------------------------------------------------------------

    def _make(
        self, vertex: JobVertex, id: SubtaskId, attempt: int, outputs: Stage
    ) -> tuple[Chain, list[Operator]]:
        operators = [chained.node.make() for chained in vertex.operators]
        for chained, operator in zip(vertex.operators, operators, strict=True):
            groups = key_group_range(vertex.max_parallelism, vertex.parallelism, id.index)
            keyed = KeyedState(vertex.max_parallelism, groups, single_key=True)
            operator.setup(
                OperatorContext(
                    chained.operator_id,
                    chained.name,
                    id,
                    attempt,
                    vertex.parallelism,
                    vertex.max_parallelism,
                    keyed,
                    OperatorLists(),
                    TimerService(keyed),
                    Collector(),
                    self._now_ms,
                    self._unique_id,
                    observer=self._observer,
                    mode=RuntimeMode.BATCH,
                    is_checkpointing=False,
                    commits_at_close=self._config.end_rules.commits_at_close,
                )
            )
        writers = [self._writer(edge, id) for edge in vertex.outputs]

        async def out(element: Element, tag: str | None) -> None:
            if isinstance(element, Watermark | WatermarkStatus):
                return
            assert isinstance(element, Batch)
            for writer in writers:
                if writer.edge.tag == tag:
                    for channel, piece in writer.route(element.sealed()):
                        outputs.setdefault((channel.consumer, channel.input), []).append(piece)

        return Chain(operators, out), operators

    def _writer(self, edge: JobEdge, id: SubtaskId) -> EdgeWriter:
        channels = [
            Channel(id, SubtaskId(edge.consumer.name, index), edge.input, index, 1, LocalWire())
            for index in edge.consumers_of(id.index)
        ]
        return EdgeWriter(edge, id.index, channels)

    def _tell(self, id: SubtaskId, attempt: int, state: str) -> None:
        self._observer.observe(SubtaskStateChanged(self._now_ms(), id, attempt, state))

    async def _run_subtask(self, vertex: JobVertex, id: SubtaskId, attempt: int, outputs: Stage) -> None:
        chain, operators = self._make(vertex, id, attempt, outputs)
        self._tell(id, attempt, "running")
        try:
            await chain.open()
            keyed: dict[int, tuple[Batch, KeySelector]] = {}
            for input, edges in self._ordered_inputs(vertex):
                # Functions may change rows, and another attempt begins with the stored ones.
                batches = [batch.sealed() for batch in self._inputs.get((id, input), [])]
                if batches and edges[0].key is not None:
                    keyed[input] = (concatenated(batches), edges[0].key)
                elif batches:
                    await chain.feed(concatenated(batches), input)
            await self._feed_by_key(chain, operators[0], keyed)
            for input in sorted({edge.input for edge in vertex.inputs}):
                await chain.end_head_input(input + 1)
            await self._finish(chain)
        finally:
            await chain.close()
        self._tell(id, attempt, "finished")

    async def _finish(self, chain: Chain) -> None:
        await chain.feed(MAX_WATERMARK)
        await chain.finish()

    def _ordered_inputs(self, vertex: JobVertex) -> list[tuple[int, list[JobEdge]]]:
        """Broadcast inputs first, then those without key, then keyed ones."""
        inputs: dict[int, list[JobEdge]] = {}
        for edge in vertex.inputs:
            inputs.setdefault(edge.input, []).append(edge)

        def rank(edges: list[JobEdge]) -> int:
            return 0 if edges[0].exchange is Exchange.BROADCAST else 2 if edges[0].key is not None else 1

        return sorted(inputs.items(), key=lambda item: (rank(item[1]), item[0]))

    async def _feed_by_key(
        self, chain: Chain, head: Operator, keyed: dict[int, tuple[Batch, KeySelector]]
    ) -> None:
        """Key by key, of all keyed inputs together: then the key is over and forgotten."""
        runs = {input: _runs_of_keys(batch, key) for input, (batch, key) in keyed.items()}
        keys = sorted({key for of_input in runs.values() for key in of_input}, key=_rank_of_key)
        for key in keys:
            for input, of_input in runs.items():
                if key in of_input:
                    await chain.feed(of_input[key], input)
            await head.context.call(head.key_ends)
            await chain.drain(0)
            head.context.timers.watermark_ms = (
                -MAX_TIMESTAMP_MS
            )  # the next key starts at the beginning of time

    # -- sources -------------------------------------------------------------------------------------------

    async def _run_sources(self, vertex: JobVertex, attempt: int, outputs: Stage) -> None:
        """All readers of a source, with their enumerator."""
        made = {id: self._make(vertex, id, attempt, outputs) for id in vertex.subtasks}
        node = vertex.operators[0].node
        failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        coordinator = self._coordinator(vertex, failed)
        assert node.make_coordinator is not None
        coordinator.reset_to_checkpoint(NO_CHECKPOINT, None)
        coordinator.start()
        readers, deliveries = [], []
        for id, (chain, operators) in made.items():
            head = operators[0]
            assert isinstance(head, SourceOperator)
            deliveries.append(self._connect(coordinator, head, id))
            readers.append(asyncio.ensure_future(self._read(chain, head, id, attempt)))
        everything: asyncio.Future[Any] = gather(*readers)
        try:
            await wait([everything, failed, *deliveries], return_when=FIRST_COMPLETED)
            for ended in (failed, *deliveries):
                if ended.done():
                    ended.result()
            await everything
        finally:
            for task in (*readers, *deliveries):
                task.cancel()
            await gather(*readers, *deliveries, return_exceptions=True)
            failed.cancel()
            await coordinator.close()

    def _coordinator(self, vertex: JobVertex, failed: asyncio.Future[None]) -> SourceCoordinator:
        def fail_job(cause: BaseException) -> None:
            if not failed.done():
                failed.set_exception(cause)

        context = _Context(vertex.operators[0].operator_id, vertex.parallelism, self._now_ms, fail_job)
        make: Any = vertex.operators[0].node.make_coordinator
        made = make(context)
        assert isinstance(made, SourceCoordinator)
        return made

    def _connect(
        self, coordinator: SourceCoordinator, head: SourceOperator, id: SubtaskId
    ) -> asyncio.Task[None]:
        """Connect reader and enumerator. Return the task that passes events to the reader, in order."""
        events: asyncio.Queue[Any] = asyncio.Queue()

        class Gateway:
            def send_event(self, event: Any) -> None:
                events.put_nowait(event)

        async def deliver() -> None:
            while True:
                await head.context.call(head.handle_event, await events.get())

        coordinator.execution_attempt_ready(id.index, 0, Gateway())
        head.context.send_to_coordinator = lambda event: coordinator.handle_event_from_operator(
            id.index, 0, RequestSplit(id.index) if isinstance(event, RequestSplit) else event
        )
        return asyncio.get_running_loop().create_task(deliver(), name=f"events of {id}")

    async def _read(self, chain: Chain, head: SourceOperator, id: SubtaskId, attempt: int) -> None:
        self._tell(id, attempt, "running")
        try:
            await chain.open()
            while True:
                status = head.context.begin(head.reader.poll_next, head)
                await chain.drain(0)
                if status is InputStatus.END_OF_INPUT:
                    break
                if status is InputStatus.NOTHING_AVAILABLE:
                    await head.context.call(head.reader.available)
                await asyncio.sleep(0)
            await self._finish(chain)
        finally:
            await chain.close()
        self._tell(id, attempt, "finished")


class _Context:
    is_checkpointing = False

    def __init__(
        self,
        operator_id: str,
        parallelism: int,
        now_ms: Callable[[], int],
        fail_job: Callable[[BaseException], None],
    ) -> None:
        self.operator_id, self.current_parallelism = operator_id, parallelism
        self.now_ms, self.fail_job = now_ms, fail_job


def _rank_of_key(key: Key) -> tuple[str, Key]:
    """Keys of different types have an order too, also in tuples."""
    if key is None:
        return ("", "")
    return (type(key).__name__, tuple(map(_rank_of_key, key)) if isinstance(key, tuple) else key)


def _runs_of_keys(batch: Batch, key: KeySelector) -> dict[Key, Batch]:
    """Return the records of each key, in order of event time, then of arrival.

    Raises:
        BadInputError: a record takes something back: batch execution tells last values only, and the order
            that a retraction rests on is gone.
    """
    if batch.kinds is not None and any(not RowKind(int(kind)).adds for kind in batch.kinds):
        raise BadInputError(
            "a record that retracts another came into a sorted input: batch execution has lost the order it "
            "rests on; run the program in streaming mode"
        )
    by_key: dict[Key, list[int]] = {}
    for index, row in enumerate(batch.rows):
        by_key.setdefault(key.key(row), []).append(index)
    times = batch.timestamps
    if times is not None:
        by_key = {k: sorted(of_key, key=lambda index: int(times[index])) for k, of_key in by_key.items()}
    return {k: batch.take(np.array(of_key, dtype=np.int64)) for k, of_key in by_key.items()}


def run_batch(graph: JobGraph, config: JobConfig | None = None, **options: Any) -> None:
    """Run a bounded program in batch execution, from code without an event loop; see `job.run`.

    ``options`` are those of `BatchRunner`.
    """
    run_alone(BatchRunner(graph, config, **options).run(), "await BatchRunner(graph, config).run()")
