"""A subtask: its mailbox, its input, its checkpoints, and its end.

Everything happens in one coroutine, one step after the other: a record, a barrier, a timer, or a mail
(trigger, notification, event of a coordinator). Snapshots are frozen there and written concurrently. Source:
Flink's `StreamTask`, `SubtaskCheckpointCoordinatorImpl` (flink.md 3); FLIP-147.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pravega_lab.portable.waiting import call_all, cancellations, is_being_cancelled, wait

from ..batch import Batch
from ..calling import call
from ..cancelling import ends_program, is_failure, is_request_to_end
from ..checkpoint.history import EndRules
from ..checkpoint.plan import TaskAck
from ..checkpoint.storage import OperatorSnapshot, file_name, write_snapshot
from ..closing import CLOSING_S
from ..elements import (
    MAX_WATERMARK,
    Barrier,
    CancelMarker,
    CheckpointKind,
    CheckpointOptions,
    Element,
    EndOfData,
    EndOfPartition,
    SubtaskId,
    Watermark,
    WatermarkStatus,
)
from ..errors import CheckpointFailedError, IllegalStateError, Reason
from ..files import Files, join
from ..observer import (
    Aligned,
    ChannelContents,
    CheckpointNotified,
    Observation,
    Observer,
    Snapshotted,
    Throughput,
    WatermarkAdvanced,
)
from ..source.events import BarrierTaken
from ..state.handles import SubtaskState
from ..subtask_states import SubtaskState as Life
from .chain import Chain
from .channels import Channel, EdgeWriter
from .lifecycle import FinalCheckpoint
from .task_input import GateInput, TaskInput

Mail = Callable[[], Awaitable[None] | None]
_log = logging.getLogger(__name__)


class MasterGateway(Protocol):
    """Takes what a subtask reports to its job master. No method waits."""

    def state_changed(
        self, subtask: SubtaskId, attempt: int, state: Life, error: BaseException | None
    ) -> None:
        """Report a new state of the attempt; ``error`` is why it failed."""

    def acknowledge(self, subtask: SubtaskId, attempt: int, checkpoint_id: int, ack: TaskAck) -> None:
        """Report that the state of a checkpoint is stored."""

    def decline(
        self, subtask: SubtaskId, attempt: int, checkpoint_id: int, reason: Reason, message: str
    ) -> None:
        """Report that the subtask cannot take a checkpoint."""

    def operator_event(self, subtask: SubtaskId, attempt: int, operator_id: str, event: Any) -> None:
        """Send an event of an operator to its coordinator."""


@dataclass(frozen=True)
class SubtaskSettings:
    """What subtasks of a job have in common, and what one of them restores.

    ``shared_folder``: for keyed state that later checkpoints refer to. ``take_turn``: see `TaskHost`.
    ``coordinated``: ids of operators with a coordinator, which is notified when a barrier was taken.
    """

    files: Files
    shared_folder: str
    is_checkpointing: bool
    after_tasks_finish: bool
    rules: EndRules
    take_turn: Callable[[], asyncio.Future[None] | None]
    restored_checkpoint: int = -1
    coordinated: tuple[str, ...] = ()


@dataclass
class _Checkpoints:
    """What a subtask remembers of checkpoints."""

    last_performed: int = -1
    latest_completed: int = -1
    aborted_early: dict[int, None] = field(default_factory=dict)
    writing: dict[int, asyncio.Task[None]] = field(default_factory=dict)


class Subtask:
    """Runs one attempt of a subtask. Set ``chain`` and ``input`` before `run`."""

    input: TaskInput

    def __init__(
        self,
        id: SubtaskId,
        attempt: int,
        settings: SubtaskSettings,
        gateway: MasterGateway,
        writers: Sequence[EdgeWriter],
        edge_tags: Mapping[int, str | None],
        observer: Observer,
        now_ms: Callable[[], int],
    ) -> None:
        self.id, self.attempt, self.settings = id, attempt, settings
        self.now_ms = now_ms
        self.chain: Chain
        self.records_out = 0
        self.blocked_ms = 0  # how long an output had no room
        self.state = Life.DEPLOYING
        self._gateway, self._observer = gateway, observer
        self._writers = [(writer, edge_tags[n]) for n, writer in enumerate(writers)]
        self._outputs = [channel for writer in writers for channel in writer.channels]
        self._mails: deque[Mail] = deque()
        self._scheduled: list[tuple[int, Mail]] = []
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._turn: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._checkpoints = _Checkpoints(latest_completed=settings.restored_checkpoint)
        self._rules = settings.rules
        self.final = FinalCheckpoint(
            is_wanted=settings.is_checkpointing and settings.after_tasks_finish,
            ends_with_savepoint=self._rules.ends_with_savepoint,
        )
        self._suspended_for: int | None = None
        self._old_drain = False
        self._is_closing = False
        self._failure: BaseException | None = None
        self.closing_error: BaseException | None = None  # the first one, after a failure or a cancellation
        self._spawned: list[asyncio.Task[Any]] = []
        for channel in self._outputs:
            channel.on_room = self._has_room
            channel.on_acknowledged = self.wake

    @property
    def has_data_ended(self) -> bool:
        """Return whether the subtask has processed all its data."""
        return self.final.has_data_ended

    @property
    def has_room(self) -> bool:
        """Return whether every output has room."""
        return all(channel.has_room for channel in self._outputs)

    def observe(self, observation: Observation) -> None:
        """Report to the observer."""
        self._observer.observe(observation)

    # -- mailbox -------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Take another turn: something may have become possible."""
        self._wake.set()

    def mail(self, action: Mail) -> None:
        """Run ``action`` in a turn of the subtask, after the mails before it."""
        self._mails.append(action)
        self._wake.set()
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(None)

    def schedule(self, at_ms: int, action: Mail) -> None:
        """Run ``action`` as a mail at ``at_ms``, unless the subtask has ended."""
        self._scheduled.append((at_ms, action))
        self._wake.set()

    def fail(self, error: BaseException) -> None:
        """Fail the subtask in its next turn. Of several errors the first counts."""
        self._failure = self._failure or error
        self._wake.set()
        self._room.set()

    def spawn(self, coro: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        """Run a coroutine concurrently, and cancel it when the subtask ends."""
        task = asyncio.get_running_loop().create_task(coro, name=f"{self.id}#{self.attempt} {what}")
        self._spawned = [t for t in self._spawned if not t.done()]
        self._spawned.append(task)
        return task

    async def run(self) -> None:
        """Run the subtask from deployment to its end.

        Every change of state is reported to the master. Raises only CancelledError, after everything is
        closed.
        """
        try:
            self._report(Life.INITIALIZING)
            await self.chain.open()
            self._report(Life.RUNNING)
            self.input.start()
            await self._loop()
            await self._end()
        except BaseException as error:
            if ends_program(error):
                raise
            is_cancelled = is_request_to_end(error)
            await self._clean_up()
            if is_cancelled:
                raise
            if self.closing_error is not None and self.closing_error is not error:
                error.add_note(f"While the subtask closed: {self.closing_error!r}")
            self._report(Life.FAILED, error)
        else:
            self._report(Life.FINISHED)

    async def _loop(self) -> None:
        while not self._may_close():
            if is_being_cancelled():  # a user's function has swallowed the cancellation
                raise asyncio.CancelledError
            if self._failure is not None:
                raise self._failure
            if self._mails:
                await self._guarded(self._mails.popleft())
                await asyncio.sleep(0)
            elif self._due():
                await self._on_time()
                await asyncio.sleep(0)
            elif self._may_process() and await self._guarded_step():
                await self._take_turn()
            else:
                await self._sleep()
        if self._failure is not None:
            raise self._failure

    async def _take_turn(self) -> None:
        self._turn = self.settings.take_turn()
        await (asyncio.sleep(0) if self._turn is None else self._turn)

    async def _guarded(self, action: Mail) -> None:
        """Mails of a legacy source's subtask hold its checkpoint lock."""
        lock = getattr(self.input, "lock", None)
        if lock is None:
            await call(action)
            return
        async with lock:
            await call(action)

    async def _guarded_step(self) -> bool:
        lock = getattr(self.input, "lock", None)
        if lock is None:
            return await self.input.step()
        async with lock:
            return await self.input.step()

    def _may_process(self) -> bool:
        return self._suspended_for is None and self.has_room

    def _may_close(self) -> bool:
        """Return whether all data is done, consumers have it, and the final checkpoint is complete.

        The subtasks that feed this one close first. Otherwise a savepoint could say that this one has
        finished and they have not, and no job can be restored from such a savepoint.
        """
        if not self.has_data_ended or self._suspended_for is not None or not self.input.has_ended:
            return False
        if self._sends_end_of_data and not all(channel.is_acknowledged for channel in self._outputs):
            return False
        return self.final.may_close

    async def _sleep(self) -> None:
        deadline_ms = self._next_deadline_ms()
        self._wake.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ms is not None:
            delay_s = max(0, deadline_ms - self.now_ms()) / 1000
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._wake.set)
        if self.has_room:
            await self._wake.wait()
        else:
            await self._blocked(self._wake)

    async def _blocked(self, until: asyncio.Event) -> None:
        since_ms = self.now_ms()
        await until.wait()
        self.blocked_ms += self.now_ms() - since_ms

    def _next_deadline_ms(self) -> int | None:
        times = [self.chain.next_timer_ms(), self.input.next_deadline_ms()]
        times += [at_ms for at_ms, _ in self._scheduled]
        return min((time for time in times if time is not None), default=None)

    def _due(self) -> bool:
        deadline_ms = self._next_deadline_ms()
        return deadline_ms is not None and deadline_ms <= self.now_ms()

    async def _on_time(self) -> None:
        now_ms = self.now_ms()
        due = [action for at_ms, action in self._scheduled if at_ms <= now_ms]
        self._scheduled = [(at_ms, action) for at_ms, action in self._scheduled if at_ms > now_ms]
        for action in due:
            await self._guarded(action)
        await self._guarded(lambda: self.chain.fire_timers(now_ms))
        deadline_ms = self.input.next_deadline_ms()
        if deadline_ms is not None and deadline_ms <= now_ms:
            await self.input.on_time(now_ms)

    # -- output --------------------------------------------------------------------------------------------

    def _has_room(self) -> None:
        self._room.set()
        self._wake.set()

    async def out(self, element: Element, tag: str | None) -> None:
        """Send what the chain emits: records wait for room in their channel, events go everywhere."""
        if not isinstance(element, Batch):
            self.broadcast(element)
            return
        for writer, of_tag in self._writers:
            if of_tag == tag:
                sealed = element.sealed()
                for channel, piece in writer.route(sealed):
                    await self._put(channel, piece)
                if of_tag is None:
                    self.records_out += element.num_rows

    async def _put(self, channel: Channel, batch: Batch) -> None:
        at = 0
        while at < batch.num_rows:
            most = min(channel.capacity, batch.num_rows - at)
            while channel.room < channel.room_for(most):
                if self._failure is not None:
                    raise self._failure
                self._room.clear()
                await self._blocked(self._room)
            size = min(channel.room, most)
            channel.put(batch if size == batch.num_rows else batch.slice(at, at + size))
            at += size

    def broadcast(self, element: Element) -> None:
        """Send an event to every output."""
        for channel in self._outputs:
            channel.put(element)

    async def take_watermark(self, news: Watermark | WatermarkStatus) -> None:
        """Process the watermark or status of all inputs together."""
        if isinstance(news, Watermark):
            self.observe(WatermarkAdvanced(self.now_ms(), self.id, self.attempt, news.timestamp_ms))
        await self.chain.feed(news)

    # -- checkpoints ---------------------------------------------------------------------------------------

    def trigger_checkpoint(self, barrier: Barrier) -> None:
        """Begin a checkpoint that the coordinator asks for, or decline it."""
        if self._is_closing:
            self._decline(barrier.checkpoint_id, Reason.CHECKPOINT_DECLINED_TASK_CLOSING, "it closes")
        elif self.state is not Life.RUNNING:
            self._decline(barrier.checkpoint_id, Reason.CHECKPOINT_DECLINED_TASK_NOT_READY, "it does not run")
        else:
            self.mail(lambda: self.input.trigger(barrier))

    async def perform(self, barrier: Barrier) -> None:
        """Take the checkpoint: send the barrier, freeze the state, and begin to write it."""
        number, options = barrier.checkpoint_id, barrier.options
        known = self._checkpoints
        if number <= known.last_performed:
            return
        known.last_performed = number
        if number in known.aborted_early:
            del known.aborted_early[number]
            self.broadcast(CancelMarker(number))
            return
        self.final.performing(number, options.kind)
        if options.kind is CheckpointKind.TERMINATE and self._rules.finishes_after_savepoint:
            self._suspended_for = number
        try:
            await self.chain.prepare_snapshot(number, options)
        except CheckpointFailedError as error:
            self.broadcast(CancelMarker(number))
            self._decline(number, error.reason, str(error))
            return
        self.broadcast(barrier)
        self.observe(
            Aligned(self.now_ms(), self.id, self.attempt, number, self.chain.records_in, self.records_out)
        )
        full = options.kind is not CheckpointKind.CHECKPOINT
        try:
            snapshots = await self.chain.snapshot(number, full=full)
        except CheckpointFailedError as error:
            self._decline(number, error.reason, str(error))
            return
        for operator_id in self.settings.coordinated:
            self._gateway.operator_event(self.id, self.attempt, operator_id, BarrierTaken(number))
        finished = self.has_data_ended
        known.writing[number] = self.spawn(
            self._write(number, options, snapshots, finished), f"snapshot {number}"
        )

    async def _write(
        self,
        checkpoint_id: int,
        options: CheckpointOptions,
        snapshots: Mapping[str, OperatorSnapshot],
        operators_finished: bool,
    ) -> None:
        """Write the files of a snapshot concurrently with the mailbox, then acknowledge."""
        try:
            states = {
                operator_id: await self._write_one(checkpoint_id, options, operator_id, snapshot)
                for operator_id, snapshot in snapshots.items()
            }
        except BaseException as error:
            if not is_failure(error):
                raise
            message = f"{type(error).__name__}: {error}"
            self._decline(checkpoint_id, Reason.CHECKPOINT_ASYNC_EXCEPTION, message)
            return
        finally:
            self._checkpoints.writing.pop(checkpoint_id, None)
            self.wake()
        size = sum(state.size_bytes for state in states.values())
        self.observe(
            Snapshotted(self.now_ms(), self.id, self.attempt, checkpoint_id, size, operators_finished)
        )
        ack = TaskAck(states, self.chain.is_finished, operators_finished)
        self._gateway.acknowledge(self.id, self.attempt, checkpoint_id, ack)

    async def _write_one(
        self, checkpoint_id: int, options: CheckpointOptions, operator_id: str, snapshot: OperatorSnapshot
    ) -> SubtaskState:
        # A checkpoint induced by a legacy source knows neither its kind nor its folder.
        folder = options.target or join(self.settings.shared_folder, "..", f"chk-{checkpoint_id}")
        name = file_name(operator_id, self.id.index, checkpoint_id, self.attempt)
        is_incremental = options.kind is CheckpointKind.CHECKPOINT
        state, shared = await write_snapshot(
            self.settings.files,
            snapshot,
            join(folder, name),
            join(self.settings.shared_folder, name) if is_incremental else None,
        )
        if is_incremental:
            keyed = next(
                o.context.keyed for o in self.chain.operators if o.context.operator_id == operator_id
            )
            keyed.written(checkpoint_id, snapshot.keyed, shared)
        return state

    def _decline(self, checkpoint_id: int, reason: Reason, message: str) -> None:
        self._gateway.decline(self.id, self.attempt, checkpoint_id, reason, message)

    async def give_up(self, checkpoint_id: int, reason: Reason | None) -> None:
        """Forward that a checkpoint is not taken here.

        It is declined too if there is a ``reason``; None means that the coordinator knows.
        """
        self._checkpoints.last_performed = max(self._checkpoints.last_performed, checkpoint_id)
        self.broadcast(CancelMarker(checkpoint_id))
        if reason is not None:
            self._decline(checkpoint_id, reason, reason.value)

    def notify_complete(self, checkpoint_id: int) -> None:
        """Take the coordinator's notice that a checkpoint is complete."""
        self.mail(lambda: self._completed(checkpoint_id))

    async def _completed(self, checkpoint_id: int) -> None:
        if checkpoint_id <= self._checkpoints.latest_completed or self.state is not Life.RUNNING:
            return
        self._checkpoints.latest_completed = checkpoint_id
        await self.chain.notify_complete(checkpoint_id)
        self.final.completed(checkpoint_id)
        self.observe(CheckpointNotified(self.now_ms(), self.id, self.attempt, checkpoint_id, True))
        if self._suspended_for == checkpoint_id:
            self._suspended_for = None
            self._old_drain = True
            if not isinstance(self.input, GateInput):
                await self.end_source_data(drain=True)

    def notify_aborted(self, checkpoint_id: int, latest_id: int) -> None:
        """Take the notice that a checkpoint was aborted; ``latest_id`` is the newest complete one."""
        self.mail(lambda: self._aborted(checkpoint_id, latest_id))

    async def _aborted(self, checkpoint_id: int, latest_id: int) -> None:
        if latest_id > self._checkpoints.latest_completed:
            await self._completed(latest_id)  # its notice was missed
        if checkpoint_id > self._checkpoints.last_performed:
            self._checkpoints.aborted_early[checkpoint_id] = None
        await self.input.abort(checkpoint_id)
        await self.chain.notify_aborted(checkpoint_id)
        self.observe(CheckpointNotified(self.now_ms(), self.id, self.attempt, checkpoint_id, False))
        self.final.aborted(checkpoint_id)

    # -- the end -------------------------------------------------------------------------------------------

    @property
    def _sends_end_of_data(self) -> bool:
        return self.settings.is_checkpointing and self._rules.sends_end_of_data and not self._old_drain

    async def stop_source(self, barrier: Barrier) -> None:
        """End the data of a source because of a stop-with-savepoint, before its barrier."""
        drain = barrier.options.kind is CheckpointKind.TERMINATE
        self.final.expect_savepoint(barrier.checkpoint_id)
        if drain and self._rules.finishes_after_savepoint:
            await self.chain.feed(MAX_WATERMARK)  # and the rest after the savepoint, which misses it
        else:
            await self.end_source_data(drain=drain)

    async def end_source_data(self, *, drain: bool) -> None:
        """End the data of a source; with ``drain``, event time goes to its end first."""
        if drain and not self._old_drain:
            await self.chain.feed(MAX_WATERMARK)
        await self.end_data(drain=drain)

    async def end_data(self, *, drain: bool) -> None:
        """End the data after all inputs: with ``drain`` the operators finish; then consumers are notified."""
        if self.has_data_ended:
            return
        if drain and not self.final.is_suspended:
            await self.chain.finish()
        else:
            self.chain.quiesce()
        self.final.data_ended()
        if self._sends_end_of_data:
            self.broadcast(EndOfData(drain))
        self.wake()

    async def _end(self) -> None:
        """Close after all data, when there is nothing left to do."""
        self.chain.quiesce()
        while self._mails:
            await self._guarded(self._mails.popleft())
        self._is_closing = True
        for writing in list(self._checkpoints.writing.values()):
            await wait([writing])
        await self.input.close()
        await self.chain.close()
        self.broadcast(EndOfPartition())
        self._stop_helpers()

    async def _clean_up(self) -> None:
        """Close the input and every operator after a failure or a cancellation, whatever raises.

        Each has `CLOSING_S`. Every error is logged; the first one is kept in `closing_error`.
        """
        self.state = Life.CANCELING
        self._stop_helpers()
        await call_all(lambda: self._close(self._close_input), lambda: self._close(self._close_chain))

    async def _close_input(self) -> None:
        async with asyncio.timeout(CLOSING_S):
            await self.input.close()

    async def _close_chain(self) -> None:
        await self.chain.close(CLOSING_S)

    async def _close(self, close: Callable[[], Awaitable[None]]) -> None:
        asked = cancellations()
        try:
            await close()
        except BaseException as error:
            if _is_collected(error):
                return  # The loop ended and this coroutine is collected: no operator can be reached any more.
            if cancellations() > asked or ends_program(error):
                raise
            self.closing_error = self.closing_error or error
            _log.error("%s, attempt %d, did not close cleanly", self.id, self.attempt, exc_info=error)

    def _stop_helpers(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._spawned:
            task.cancel()

    def _report(self, state: Life, error: BaseException | None = None) -> None:
        self.state = state
        self._gateway.state_changed(self.id, self.attempt, state, error)

    def throughput(self) -> Throughput:
        """Return how many records the subtask has read, written and dropped."""
        late = sum(operator.context.late_dropped for operator in self.chain.operators)
        return Throughput(self.now_ms(), self.id, self.attempt, self.chain.records_in, self.records_out, late)

    def channel_contents(self, now_ms: int) -> list[ChannelContents]:
        """Return what the channels to this subtask hold."""
        if not isinstance(self.input, GateInput):
            return []
        return self.input.contents(now_ms)

    def sample(self, now_ms: int) -> None:
        """Report throughput and channel contents to the observer."""
        self.observe(self.throughput())
        for contents in self.channel_contents(now_ms):
            self.observe(contents)

    def handle_event(self, operator_id: str, event: Any) -> None:
        """Pass an event of an operator coordinator to its operator, in a turn of the subtask."""
        operator = next(o for o in self.chain.operators if o.context.operator_id == operator_id)
        if self.chain.is_finished:
            return
        handler = getattr(operator, "handle_event", None)
        if handler is None:
            raise IllegalStateError(f"{operator.context.name} takes no events of a coordinator")
        self.mail(lambda: operator.context.call(handler, event))
        self.mail(self.event_taken)

    def event_taken(self) -> None:
        """Continue to read: the event may have brought something to read."""
        self.wake()


def _is_collected(error: BaseException) -> bool:
    """Return whether the error arose while a coroutine was collected."""
    context = error.__context__
    return context is not None and (isinstance(context, GeneratorExit) or _is_collected(context))
