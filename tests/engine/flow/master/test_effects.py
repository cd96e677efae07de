"""What the job does when an effect of its coordinators raises, comes late, or comes at the wrong time.

Each of these used to leave a job that neither continued nor failed.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.checkpoint.storage import METADATA
from pravega_lab.engine.flow.closing import CLOSING_S
from pravega_lab.engine.flow.errors import (
    CheckpointFailedError,
    IllegalStateError,
    JobCancelledError,
    JobFailedError,
    Reason,
    UserFunctionError,
)
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import FixedDelay, NoRestart
from pravega_lab.engine.flow.observer import NoObserver
from pravega_lab.engine.flow.operators.functions import KeyedProcessFunction
from pravega_lab.engine.flow.sink.committers import _LastCheckpoint
from pravega_lab.engine.flow.source.collections import RowsEnumerator, RowsReader, RowsSource, RowsSplit
from pravega_lab.engine.flow.source.coordinator import SourceCoordinator
from pravega_lab.engine.flow.source.events import ReaderRegistration, RequestSplit
from pravega_lab.engine.flow.source.master_hook import MasterHook
from pravega_lab.engine.flow.source.operator_coordinator import NO_CHECKPOINT
from pravega_lab.engine.flow.source.sources import (
    Boundedness,
    SourceContext,
    SourceFunction,
    SplitEnumeratorContext,
)
from pravega_lab.engine.flow.subtask_states import SubtaskState as Life
from pravega_lab.engine.flow.task.subtask import Subtask
from tests.engine.flow.jobs import Collect, Told, Virtual, collect

ROWS = [{"n": n} for n in range(40)]
TOLERANT = JobConfig(
    checkpoints=CheckpointConfig(interval_ms=100, tolerable_failures=1000), restart=FixedDelay(wait_ms=50)
)


class StorageError(Exception):
    """Stands for the error of a storage library, which is no ``OSError``."""


class Panic(BaseException):
    """Stands for the panic of an extension in Rust, which is no ``Exception``."""


class Enumerator(RowsEnumerator):
    """An enumerator of `Source`."""

    def __init__(self, context: SplitEnumeratorContext[RowsSplit], splits: Any, source: Source) -> None:
        super().__init__(context, splits)
        self._source = source

    def snapshot_state(self, checkpoint_id: int) -> Any:
        state = super().snapshot_state(checkpoint_id)
        return self._source.snapshots.pop(0)(state) if self._source.snapshots else state

    def handle_split_request(self, subtask: int) -> Any:
        if self._source.requests:
            return self._source.requests.pop(0)()
        return super().handle_split_request(subtask)

    def close(self) -> Any:
        return self._source.closings.pop(0)() if self._source.closings else super().close()


class Source(RowsSource):
    """Rows in splits that are assigned one at a time. Some calls to its enumerator do what the test says."""

    def __init__(self, **options: Any) -> None:
        super().__init__(ROWS, splits=8, batch_rows=1, pause_ms=lambda: 20, **options)
        self.snapshots: list[Callable[[Any], Awaitable[Any]]] = []
        self.requests: list[Callable[[], Awaitable[None]]] = []
        self.creations: list[BaseException] = []
        self.closings: list[Callable[[], Any]] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> Source:
        return self

    def create_enumerator(self, context: SplitEnumeratorContext[RowsSplit]) -> Enumerator:
        if self.creations:
            raise self.creations.pop(0)
        return Enumerator(context, self._all_splits(), self)

    def restore_enumerator(
        self, context: SplitEnumeratorContext[RowsSplit], checkpoint: Sequence[RowsSplit]
    ) -> Enumerator:
        return Enumerator(context, checkpoint, self)


def job_of(virtual: Virtual, source: Source, into: list[Any], config: JobConfig = TOLERANT) -> Job:
    env = StreamEnvironment("rows", parallelism=2, observer=virtual.told)
    collect(env.from_source(source, uid="rows"), into, 2)
    return virtual.job(env, config)


async def ended(job: Job) -> None:
    """Wait until the job has finished, which must take less than 20 s."""
    try:
        await asyncio.wait_for(job.wait(), 20)
    except TimeoutError:
        raise AssertionError(" ".join(job.explain())) from None


def finished(source: Source, config: JobConfig = TOLERANT, files: MemoryFiles | None = None) -> Virtual:
    """Run a job over all rows to its end."""
    virtual, rows = Virtual(), []  # type: ignore[var-annotated]
    virtual.files = files or virtual.files

    async def story() -> None:
        job = job_of(virtual, source, rows, config)
        await job.start()
        await ended(job)

    virtual.run(story)
    assert {row["n"] for row, _ in rows} == set(range(len(ROWS)))
    return virtual


def cancelled_future(*args: Any) -> asyncio.Future[Any]:
    """Return a future that another part of the program has cancelled."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.cancel()
    return future


async def panics(*args: Any) -> Any:
    """Fail as an extension in Rust does."""
    raise Panic("a panic")


ODD = pytest.mark.parametrize("fault", [cancelled_future, panics], ids=["cancelled future", "panic"])


def failures(virtual: Virtual) -> list[str]:
    return [o.reason for o in virtual.told.of(seen.CheckpointFailed) if o.checkpoint_id is not None]


# -- coordinators --------------------------------------------------------------------------------------------


def test_a_part_that_is_taken_after_its_checkpoint_was_aborted_holds_no_split_back() -> None:
    """With default settings the job used to stand still until the checkpoint timeout of 600 s."""
    virtual, source, rows = Virtual(), Source(), []  # type: ignore[var-annotated]
    begun = asyncio.Event()

    async def slow(state: Any) -> Any:
        begun.set()
        await asyncio.sleep(1)
        return state

    source.snapshots = [slow]

    async def story() -> None:
        job = job_of(virtual, source, rows)
        await job.start()
        await begun.wait()
        job.fail_subtask(job.graph.subtasks()[0], ValueError("broken"))
        await ended(job)

    virtual.run(story)
    assert "TASK_FAILURE" in failures(virtual)


@ODD
def test_a_snapshot_with_an_odd_error_fails_the_checkpoint_and_nothing_else(
    fault: Callable[..., Any],
) -> None:
    source = Source()
    source.snapshots = [fault]
    virtual = finished(source)
    assert failures(virtual)[0] == "TRIGGER_CHECKPOINT_FAILURE"
    assert [o.state for o in virtual.told.of(seen.JobStateChanged)] == ["running", "finished"]


@ODD
def test_a_call_with_an_odd_error_fails_the_job_which_restarts(fault: Callable[..., Any]) -> None:
    source = Source()
    source.requests = [fault]
    virtual = finished(source)
    assert "restarting" in [o.state for o in virtual.told.of(seen.JobStateChanged)]


def test_an_enumerator_that_cannot_be_created_is_created_again() -> None:
    source = Source()
    source.creations = [StorageError("not yet"), Panic("not yet")]
    virtual = finished(source)
    states = [o.state for o in virtual.told.of(seen.JobStateChanged)]
    assert states == ["running", "restarting", "running", "restarting", "running", "finished"]


def test_an_enumerator_that_cannot_be_created_fails_a_job_that_does_not_restart() -> None:
    source = Source()
    source.creations = [StorageError("never")]
    with pytest.raises(JobFailedError, match="never"):
        finished(source, replace(TOLERANT, restart=NoRestart()))


def _raise() -> None:
    raise StorageError("the other system does not answer")


@pytest.mark.parametrize(
    "close",
    [_raise, cancelled_future, panics, lambda: asyncio.Event().wait()],
    ids=["raises", "aborted", "panics", "hangs"],
)
def test_an_enumerator_that_does_not_close_is_replaced_all_the_same(close: Callable[[], Any]) -> None:
    """The recovery used to end without a word, or to fail and begin again, until the job failed."""
    virtual, source, rows = Virtual(), Source(), list[Any]()
    source.closings = [close]

    async def story() -> None:
        job = job_of(virtual, source, rows, replace(TOLERANT, restart=FixedDelay(attempts=1, wait_ms=50)))
        await job.start()
        await asyncio.sleep(0.25)
        job.master.fail_globally(StorageError("an enumerator raised"))
        await asyncio.sleep(CLOSING_S)
        await ended(job)

    virtual.run(story)
    assert {row["n"] for row, _ in rows} == set(range(len(ROWS)))
    states = [o.state for o in virtual.told.of(seen.JobStateChanged)]
    assert states == ["running", "restarting", "running", "finished"]


class Hook(MasterHook):
    """A hook whose calls are the functions in ``calls``, each once."""

    identifier = "hook"

    def __init__(self, **calls: Callable[[], Any]) -> None:
        self.calls = calls

    def _call(self, name: str) -> Any:
        return self.calls.pop(name, lambda: None)()

    def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int) -> Any:
        return self._call("trigger_checkpoint")

    def reset(self) -> Any:
        return self._call("reset")

    def close(self) -> Any:
        return self._call("close")


def job_with_hook(virtual: Virtual, hook: Hook, config: JobConfig = TOLERANT) -> Job:
    job = job_of(virtual, Source(), [], config)
    next(operator for _, operator in job.graph.operators()).node.make_hook = lambda: hook
    return job


@ODD
def test_a_restore_with_an_odd_error_is_repeated(fault: Callable[..., Any]) -> None:
    virtual = Virtual()

    async def story() -> None:
        hook = Hook()
        job = job_with_hook(virtual, hook)
        await job.start()
        hook.calls["reset"] = fault
        job.master.fail_globally(StorageError("an enumerator raised"))
        await ended(job)

    virtual.run(story)
    assert len(virtual.told.of(seen.Restored)) == 2


class _Context:
    operator_id = "rows"
    current_parallelism = 1
    is_checkpointing = True

    def now_ms(self) -> int:
        return 0

    def fail_job(self, cause: BaseException) -> None:
        raise AssertionError("not failed here")


class _Gateway:
    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send_event(self, event: Any) -> None:
        self.sent.append(event)


BEFORE_START: dict[str, Callable[[SourceCoordinator], Any]] = {
    "handle_event_from_operator": lambda it: it.handle_event_from_operator(0, 0, RequestSplit(0)),
    "checkpoint_coordinator": lambda it: it.checkpoint_coordinator(1),
    "notify_checkpoint_complete": lambda it: it.notify_checkpoint_complete(1),
    "notify_checkpoint_aborted": lambda it: it.notify_checkpoint_aborted(1),
    "subtask_reset": lambda it: it.subtask_reset(0, 1),
    "execution_attempt_ready": lambda it: it.execution_attempt_ready(0, 0, _Gateway()),
    "execution_attempt_failed": lambda it: it.execution_attempt_failed(0, 0, "gone"),
}


def refuses_before_start(call: str = "handle_event_from_operator") -> None:
    async def story() -> None:
        coordinator = SourceCoordinator(Source(), _Context(), NoObserver())
        with pytest.raises(IllegalStateError, match="source 'rows' has not started yet"):
            BEFORE_START[call](coordinator)
        coordinator.start()
        with pytest.raises(IllegalStateError, match="cannot be reset any more"):
            coordinator.reset_to_checkpoint(1, None)
        await asyncio.sleep(0.1)  # its lane begins
        await coordinator.close()

    Virtual().run(story)


@pytest.mark.parametrize("call", list(BEFORE_START))
def test_a_coordinator_refuses_calls_before_its_start(call: str) -> None:
    refuses_before_start(call)


def test_a_request_that_waits_in_the_lane_gets_its_splits_to_no_later_attempt() -> None:
    """The splits used to reach the new attempt. They went back to the enumerator too, and were read twice."""

    async def slow(state: Any) -> Any:
        await asyncio.sleep(1)
        return state

    async def story() -> None:
        source = Source()
        source.snapshots = [slow]
        coordinator = SourceCoordinator(source, _Context(), NoObserver())
        coordinator.start()
        coordinator.checkpoint_coordinator(1)
        gateways = [_Gateway(), _Gateway()]
        for attempt, gateway in enumerate(gateways):
            coordinator.execution_attempt_ready(0, attempt, gateway)
            coordinator.handle_event_from_operator(0, attempt, ReaderRegistration(0))
            coordinator.handle_event_from_operator(0, attempt, RequestSplit(0))
            if attempt == 0:
                coordinator.execution_attempt_failed(0, attempt, "gone")
                coordinator.subtask_reset(0, NO_CHECKPOINT)
        await asyncio.sleep(2)
        assert [len(gateway.sent) for gateway in gateways] == [1, 1]
        await coordinator.close()

    Virtual().run(story)


# -- effects -------------------------------------------------------------------------------------------------


class OddFiles(MemoryFiles):
    """Files of a library of which three calls raise ``error`` where ``is_odd(call, path)``."""

    def __init__(self, is_odd: Callable[[str, str], bool], error: type[BaseException] = StorageError) -> None:
        super().__init__()
        self._is_odd, self._error = is_odd, error
        self.raised = 0

    def _check(self, call: str, path: str) -> None:
        if self.raised < 3 and self._is_odd(call, path):
            self.raised += 1
            raise self._error(f"{call}: the bucket does not answer")

    async def write(self, path: str, data: bytes) -> None:
        self._check("write", path)
        await super().write(path, data)

    async def delete(self, path: str) -> None:
        self._check("delete file", path)
        await super().delete(path)

    async def delete_folder(self, folder: str) -> None:
        self._check("delete", folder)
        await super().delete_folder(folder)


def _of_metadata(call: str, path: str) -> bool:
    return path.endswith(METADATA)


@pytest.mark.parametrize(
    ("is_odd", "reason"),
    [
        (_of_metadata, "FINALIZE_CHECKPOINT_FAILURE"),
        (
            lambda call, path: call == "write" and path.endswith("_in_progress"),
            "TRIGGER_CHECKPOINT_FAILURE",
        ),
        (lambda call, path: call == "delete", None),
        # The metadata are written by then, so the checkpoint is complete.
        (lambda call, path: call == "delete file" and path.endswith("_in_progress"), None),
    ],
    ids=["metadata", "location", "cleaning", "mark"],
)
@pytest.mark.parametrize("error", [StorageError, asyncio.CancelledError, Panic])
def test_checkpoints_go_on_after_any_error_of_the_storage(
    is_odd: Callable[[str, str], bool], reason: str | None, error: type[BaseException]
) -> None:
    goes_on(is_odd, reason, error)


def goes_on(
    is_odd: Callable[[str, str], bool] = _of_metadata,
    reason: str | None = "FINALIZE_CHECKPOINT_FAILURE",
    error: type[BaseException] = StorageError,
) -> None:
    files = OddFiles(is_odd, error)
    virtual = finished(Source(), files=files)
    assert files.raised == 3
    assert failures(virtual) == ([reason] * 3 if reason else [])
    assert virtual.told.of(seen.CheckpointCompleted)


class SilentFiles(MemoryFiles):
    """Files of a store that does not answer when metadata are written."""

    async def write(self, path: str, data: bytes) -> None:
        if path.endswith(METADATA):
            await asyncio.get_running_loop().create_future()
        await super().write(path, data)


def test_a_storage_that_does_not_answer_fails_checkpoints_and_does_not_keep_the_job(
    caplog: pytest.LogCaptureFixture,
) -> None:
    importlib.import_module("pravega_lab.engine.simulation.flow.world")  # it hides tolerated failures
    virtual, source = Virtual(), Source(boundedness=Boundedness.CONTINUOUS_UNBOUNDED)
    virtual.files = SilentFiles()
    quick = CheckpointConfig(interval_ms=100, timeout_ms=1000, tolerable_failures=1000)

    async def story() -> None:
        job = job_of(virtual, source, [], replace(TOLERANT, checkpoints=quick))
        await job.start()
        await asyncio.sleep(5)
        assert failures(virtual) == ["CHECKPOINT_EXPIRED"] * 4
        await asyncio.wait_for(job.cancel(), CLOSING_S + 1)
        assert job.state == "cancelled"

    virtual.run(story)
    assert caplog.messages == [
        "The job is over, and after 60 s this still ran: " + ", ".join(["master metadata"] * 5)
    ]


def test_a_trigger_call_that_raises_fails_the_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    right, raised = Subtask.trigger_checkpoint, []

    def trigger(self: Subtask, barrier: Any) -> None:
        if len(raised) < 2:
            raised.append(barrier.checkpoint_id)
            raise StorageError("the worker does not answer")
        right(self, barrier)

    monkeypatch.setattr(Subtask, "trigger_checkpoint", trigger)
    virtual = finished(Source())
    assert raised
    assert set(failures(virtual)) == {"TRIGGER_CHECKPOINT_FAILURE"}
    assert virtual.told.of(seen.CheckpointCompleted)


def test_a_notice_to_a_coordinator_that_raises_restarts_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    right, raised = SourceCoordinator.notify_checkpoint_complete, []

    def notify(self: SourceCoordinator, checkpoint_id: int) -> None:
        if not raised:
            raised.append(checkpoint_id)
            raise StorageError("cannot be notified")
        right(self, checkpoint_id)

    monkeypatch.setattr(SourceCoordinator, "notify_checkpoint_complete", notify)
    virtual = finished(Source())
    restored = [(o.checkpoint_id, o.is_global) for o in virtual.told.of(seen.Restored)]
    assert restored == [(None, True), (raised[0], True)]


# -- subtasks ------------------------------------------------------------------------------------------------


class Odd(Collect):
    """Collects rows. The first call of each method in ``odd`` awaits ``fault()``."""

    def __init__(self, into: list[Any], odd: list[str], fault: Callable[[], Awaitable[Any]]) -> None:
        super().__init__(into)
        self._odd, self._fault = odd, fault

    async def _call(self, name: str) -> None:
        if name in self._odd:
            self._odd.remove(name)
            await self._fault()

    async def open(self) -> None:
        await self._call("open")

    async def process_batch(self, batch: Batch, input: int) -> None:  # type: ignore[override]
        super().process_batch(batch, input)
        await self._call("process_batch")
        if self._odd == ["close"]:
            raise StorageError("a failure before close()")

    async def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        await self._call("notify_checkpoint_complete")

    async def close(self) -> None:
        await self._call("close")


class OddReader(RowsReader):
    """A reader whose ``available`` first awaits the faults that are left."""

    faults: list[Callable[[], Awaitable[Any]]]

    async def available(self) -> None:
        if self.faults:
            await self.faults.pop()()
        await super().available()


class OddReaders(Source):
    """A `Source` with the readers `OddReader`, of which one awaits ``fault()``."""

    def __init__(self, fault: Callable[[], Awaitable[Any]]) -> None:
        super().__init__()
        self._faults = [fault]

    def create_reader(self, context: Any) -> RowsReader:
        reader = OddReader(context, self._rows, self._batch_rows, self._pause_ms, self.boundedness)
        reader.faults = self._faults
        return reader


class OddFunction(SourceFunction):
    """A legacy source whose first ``run`` awaits ``fault()`` after a row."""

    def __init__(self, fault: Callable[[], Awaitable[Any]]) -> None:
        self._faults = [fault]

    def __deepcopy__(self, memo: dict[int, Any]) -> OddFunction:
        return self

    async def run(self, context: SourceContext) -> None:
        for n in range(len(ROWS)):
            await context.collect(Batch.of_rows([{"n": n}]))
            if self._faults:
                await self._faults.pop()()

    def cancel(self) -> None:
        pass


@ODD
@pytest.mark.parametrize(
    "odd", ["open", "process_batch", "notify_checkpoint_complete", "close", "reader", "legacy source"]
)
def test_a_subtask_with_an_odd_error_fails_and_restarts(odd: str, fault: Callable[..., Any]) -> None:
    """Nothing had asked the subtask to end, and it used to stand still without a report."""
    virtual, rows, left = Virtual(), list[Any](), [odd]

    async def story() -> None:
        env = StreamEnvironment("odd", observer=virtual.told)
        if odd == "legacy source":
            source = env.add_source(OddFunction(fault), uid="rows")
        else:
            source = env.from_source(OddReaders(fault) if odd == "reader" else Source(), uid="rows")
        source.key_by("n").transform("odd", lambda: Odd(rows, left, fault))
        job = virtual.job(env, TOLERANT)
        await job.start()
        await ended(job)

    virtual.run(story)
    assert {row["n"] for row, _ in rows} == set(range(len(ROWS)))
    failed = [o.reason for o in virtual.told.of(seen.SubtaskStateChanged) if o.state == "failed"]
    assert len(failed) == 1
    words = "CancelledError" if fault is cancelled_future else "a panic"
    assert ("a failure before close()" if odd == "close" else words) in failed[0]


@pytest.mark.parametrize("error", [asyncio.CancelledError, Panic])
def test_a_snapshot_whose_file_has_an_odd_error_is_declined(error: type[BaseException]) -> None:
    files = OddFiles(
        lambda call, path: call == "write" and not path.endswith((METADATA, "_in_progress")), error
    )
    virtual = finished(Source(), files=files)
    assert files.raised == 3
    assert set(failures(virtual)) == {"CHECKPOINT_ASYNC_EXCEPTION"}
    assert virtual.told.of(seen.CheckpointCompleted)


# -- observers -----------------------------------------------------------------------------------------------


def test_what_an_observer_raises_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    virtual, rows, raised = Virtual(), list[Any](), dict[type[Any], None]()

    class Broken(Told):
        def observe(self, observation: Any) -> None:
            super().observe(observation)
            raised[type(observation)] = None
            raise errors[len(raised) % len(errors)]

    errors = (asyncio.CancelledError(), StorageError("the observer is broken"), Panic("the observer"))
    virtual.told = Broken()

    async def story() -> None:
        job = job_of(virtual, Source(), rows)
        await job.start()
        await ended(job)

    virtual.run(story)
    assert len(rows) == len(ROWS)
    assert virtual.told.of(seen.CheckpointCompleted)
    assert len(raised) > 10
    assert len(caplog.records) >= len(raised)


# -- ends ----------------------------------------------------------------------------------------------------


def test_a_hook_whose_close_awaits_a_cancelled_future_does_not_keep_the_job() -> None:
    virtual = Virtual()

    async def story() -> None:
        job = job_with_hook(virtual, Hook(close=cancelled_future))
        await job.start()
        await ended(job)
        assert job.state == "finished"

    virtual.run(story)


@pytest.mark.parametrize("close", ["source", "subtask"])
def test_a_cancellation_whose_caller_stops_waiting_ends_the_job(close: str) -> None:
    """What the caller was waiting for used to stay, and `Job.wait` never returned."""
    virtual, source = Virtual(), Source(boundedness=Boundedness.CONTINUOUS_UNBOUNDED)

    class Slow(Collect):
        async def close(self) -> None:
            await asyncio.sleep(5 if close == "subtask" else 0)

    source.closings = [lambda: asyncio.sleep(5)] if close == "source" else []

    async def story() -> None:
        env = StreamEnvironment("slow", observer=virtual.told)
        env.from_source(source, uid="rows").transform("slow", lambda: Slow([]))
        job = virtual.job(env, TOLERANT)
        await job.start()
        await asyncio.sleep(0.25)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(job.cancel(), 1)
        with pytest.raises(JobCancelledError):
            await asyncio.wait_for(job.wait(), 5)
        await job.cancel()
        assert virtual.told.of(seen.JobStateChanged)[-1].state == "cancelled"

    virtual.run(story)


# -- starts --------------------------------------------------------------------------------------------------


class Locked(KeyedProcessFunction):
    """A function that cannot be copied."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def process(self, row: Any, context: Any) -> None:
        context.emit(row)


@pytest.mark.parametrize("fault", ["function", "hook", "cancellation"])
def test_a_job_that_cannot_start_has_failed_and_closes_everything(fault: str) -> None:
    virtual, source, closed = Virtual(), Source(), list[str]()
    source.closings = [lambda: closed.append("enumerator")]
    hook = Hook(close=lambda: closed.append("hook"))

    async def story() -> None:
        env = StreamEnvironment("faulty", observer=virtual.told)
        rows = env.from_source(source, uid="rows")
        collect(rows.key_by("n").process(Locked(), name="locked") if fault == "function" else rows, [])
        job = virtual.job(env, TOLERANT)
        node = next(operator for _, operator in job.graph.operators()).node
        node.make_hook = lambda: hook
        if fault != "function":
            hook.calls["reset"] = _raise if fault == "hook" else lambda: asyncio.Event().wait()
        starting = asyncio.ensure_future(job.start())
        await asyncio.sleep(0.1)
        assert starting.cancel() == (fault == "cancellation")
        with pytest.raises((UserFunctionError, StorageError, asyncio.CancelledError)) as raised:
            await starting
        assert ("locked cannot be created" in str(raised.value)) == (fault == "function")
        assert job.state == "failed"
        with pytest.raises(JobFailedError):
            await asyncio.wait_for(job.wait(), 1)
        await asyncio.wait_for(job.cancel(), 1)

    virtual.run(story)
    assert "hook" in closed
    assert ("enumerator" in closed) == (fault == "function")


# -- stops ---------------------------------------------------------------------------------------------------


def test_a_stop_during_the_restart_delay_is_refused_and_the_next_one_stops_the_job() -> None:
    """Its savepoint used to complete, because the subtasks still ran. Then they were restarted from it, and
    the job ran on although it had been stopped.
    """
    virtual, rows = Virtual(), []  # type: ignore[var-annotated]

    async def story() -> None:
        job = job_of(virtual, Source(boundedness=Boundedness.CONTINUOUS_UNBOUNDED), rows)
        await job.start()
        await asyncio.sleep(0.25)
        job.master.fail_globally(StorageError("an enumerator raised"))
        job.master.act()
        with pytest.raises(CheckpointFailedError, match="The job is restarting") as refused:
            await job.stop_with_savepoint("sp/1")
        assert refused.value.reason is Reason.NOT_ALL_REQUIRED_TASKS_RUNNING
        assert {e.state for e in job.master.executions.values()} == {Life.RUNNING}
        await asyncio.sleep(0.25)
        assert await asyncio.wait_for(job.stop_with_savepoint("sp/2"), 20) == "sp/2"

    virtual.run(story)


def test_checkpoints_continue_if_a_savepoint_fails_after_the_caller_stopped_waiting() -> None:
    """Only the caller used to resume them."""
    virtual, source = Virtual(), Source(boundedness=Boundedness.CONTINUOUS_UNBOUNDED)

    async def fails(state: Any) -> Any:
        await asyncio.sleep(2)
        raise StorageError("the store is away")

    async def story() -> None:
        job = job_of(virtual, source, [])
        await job.start()
        await asyncio.sleep(0.25)
        source.snapshots = [fails]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(job.stop_with_savepoint("sp/1"), 1)
        await asyncio.sleep(2)
        completed = len(virtual.told.of(seen.CheckpointCompleted))
        await asyncio.sleep(1)
        assert len(virtual.told.of(seen.CheckpointCompleted)) >= completed + 5
        await job.cancel()

    virtual.run(story)
    assert failures(virtual) == ["TRIGGER_CHECKPOINT_FAILURE"]


# -- the last committables -----------------------------------------------------------------------------------


def test_a_checkpoint_from_before_the_end_of_the_input_does_not_cover_what_came_after() -> None:
    last = _LastCheckpoint()
    last.snapshot(3)
    last.end_input()
    assert not last.is_covered_by(3)
    last.snapshot(4)
    assert not last.is_covered_by(3)
    assert last.is_covered_by(4)
    assert last.is_covered_by(5)
