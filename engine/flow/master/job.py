"""Start a job, watch it, take savepoints of it, and stop it.

::

    job = Job(graph, JobConfig(...))
    await job.start()
    path = await job.stop_with_savepoint("savepoints/1", drain=False)

`run` does all of it for a bounded job, from code that has no event loop.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any, TypeVar

from pravega_lab.errors import BadInputError
from pravega_lab.portable.waiting import FIRST_COMPLETED, shield, wait
from pravega_lab.portable.words import plural

from ..cancelling import message_of
from ..checkpoint import metadata
from ..checkpoint.failures import reason_of
from ..checkpoint.handles import CompletedCheckpoint
from ..checkpoint.storage import IN_PROGRESS
from ..clock import steady_clock
from ..elements import CheckpointKind, SubtaskId
from ..errors import CheckpointFailedError, IllegalStateError, JobCancelledError, Reason, SavepointError
from ..files import Files, Folder, FsspecFiles, join
from ..graph.graph import JobGraph, check_graph
from ..observer import NoObserver, Observer
from ..operators.operator import RuntimeMode
from ..subtask_states import SubtaskState
from ..task.channels import Wire
from ..task.hosting import Home, LocalHost, LocalWire, TaskHost
from .config import JobConfig, check_config
from .job_state import JobState
from .master import JobMaster

_T = TypeVar("_T")


class Job:
    """One execution of a graph.

    ``restore_from`` is the checkpoint or savepoint to start from: its folder, or what `latest_checkpoint` of
    another job returned. ``files`` is where checkpoints are stored: fsspec unless something else is given.
    ``wire``, ``host``, ``now_ms``, ``unique_id`` and ``home`` replace time, chance and places, for the
    simulation and the cluster. Without ``now_ms``, the job has a `clock.steady_clock`.
    """

    def __init__(
        self,
        graph: JobGraph,
        config: JobConfig | None = None,
        *,
        restore_from: Folder | CompletedCheckpoint | None = None,
        files: Files | None = None,
        observer: Observer | None = None,
        wire: Wire | None = None,
        host: TaskHost | None = None,
        now_ms: Callable[[], int] | None = None,
        unique_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        job_id: str | None = None,
        home: Home | None = None,
    ) -> None:
        check_graph(graph)
        self.graph, self.config = graph, config or JobConfig()
        check_config(self.config)
        self.files = files or FsspecFiles(private=True)
        if isinstance(restore_from, CompletedCheckpoint):
            restore_from = restore_from.path
        self._restore_from = None if restore_from is None else self.files.absolute(join(restore_from))
        self._observer: Observer = observer or NoObserver()
        self._wire: Wire = wire or LocalWire()
        self._host: TaskHost = host or LocalHost()
        self._now_ms = now_ms or steady_clock()
        self._unique_id, self._job_id = unique_id, job_id
        self._home = home
        self._was_started = False
        self._unused: set[str] = set()  # folders of savepoints that were refused before they began
        self._master: JobMaster | None = None

    async def start(self) -> None:
        """Deploy the job; return when its subtasks have been started.

        Raises:
            DamagedCheckpointError: ``restore_from`` is no checkpoint, or is damaged.
            RestoreError: the checkpoint does not fit the graph.
            JobCancelledError: the job was cancelled while it started.
            IllegalStateError: the configuration asks for batch execution, or the job was started before.
            OSError: ``restore_from`` cannot be read now. Nothing was started, so the call can be repeated.
        """
        if self.config.mode is RuntimeMode.BATCH:
            raise IllegalStateError("batch execution has no running job: call run_batch(graph, config)")
        if self._was_started:
            raise IllegalStateError("the job was started before: make another one")
        self._was_started = True
        try:
            restore = await self._load()
        except BaseException:
            self._was_started = False
            raise
        self._master = JobMaster(
            self.graph,
            self.config,
            files=self.files,
            wire=self._wire,
            host=self._host,
            observer=self._observer,
            now_ms=self._now_ms,
            unique_id=self._unique_id,
            job_id=self._job_id,
            home=self._home,
        )
        await self._master.start(restore)

    async def _load(self) -> CompletedCheckpoint | None:
        return None if self._restore_from is None else await metadata.load(self.files, self._restore_from)

    @property
    def master(self) -> JobMaster:
        """Return the master, which runs the job.

        Raises:
            IllegalStateError: the job was not started.
        """
        if self._master is None:
            raise IllegalStateError("the job was not started: call start() first")
        return self._master

    @property
    def has_master(self) -> bool:
        """Return whether there is a `master`: `start` was called, and has read what it restores."""
        return self._master is not None

    @property
    def state(self) -> str:
        """Return the state of the job, in a word of `observer.JobStateChanged`."""
        return JobState.CREATED.value if self._master is None else self._master.state.value

    async def wait(self) -> None:
        """Return when the job has finished.

        Raises:
            JobFailedError: the job failed, and its restart strategy gave up; the cause is the last failure.
            StopWithSavepointStoppingError: the job did not stop in order after its savepoint.
            JobCancelledError: the job was cancelled.
        """
        await shield(self.master.done)
        if self.master.life.failure is not None:
            raise self.master.life.failure

    async def cancel(self) -> None:
        """Stop every subtask and end the job. Nothing is committed that was not committed before.

        The job ends even if the caller stops waiting.
        """
        await self.master.cancel()

    # -- checkpoints ---------------------------------------------------------------------------------------

    @property
    def latest_checkpoint(self) -> CompletedCheckpoint | None:
        """Return the newest checkpoint of this job, None before its first one.

        A failure before the first one returns to the checkpoint that the job was started from.
        """
        return self.master.coordinator.store.latest

    async def trigger_checkpoint(self) -> CompletedCheckpoint:
        """Take a checkpoint now, in addition to the periodic ones, and return it.

        Raises:
            CheckpointFailedError: the checkpoint failed, or the job has ended; the error has the reason.
            IllegalStateError: the job takes no checkpoints.
        """
        self._check_checkpointing()
        coordinator = self.master.coordinator
        return await self.master.ask(coordinator.request(CheckpointKind.CHECKPOINT, self._now_ms()))

    async def trigger_savepoint(self, folder: Folder | None = None) -> str:
        """Take a savepoint while the job continues; return its folder.

        ``folder`` must be empty or absent; None: one in `JobConfig.savepoint_folder`.

        Raises:
            SavepointError: the folder is not empty or cannot be written.
            CheckpointFailedError: the savepoint failed, or the job has ended.
            IllegalStateError: the job takes no checkpoints, or no folder is given and there is no default.
        """
        self._check_checkpointing()
        master = self.master
        target = await self._savepoint_folder(folder)
        request = master.coordinator.request(CheckpointKind.SAVEPOINT, self._now_ms(), target=target)
        answer = master.ask(request)
        self._note_refusal(answer, target)
        return (await answer).path

    async def stop_with_savepoint(self, folder: Folder | None = None, *, drain: bool = False) -> str:
        """Stop reading, take a savepoint, commit, and end the job; return the savepoint's folder.

        With ``drain``, event time goes to its end first and operators finish, for a job that will not be
        resumed. If the caller stops waiting, the job still stops; if the savepoint fails, it continues.

        Raises:
            IllegalStateError: the job takes no checkpoints, or no folder is given and there is no default, or
                another stop-with-savepoint is under way.
            SavepointError: the folder is not empty or cannot be written.
            CheckpointFailedError: the savepoint failed and the job continues, or the job has ended.
            StopWithSavepointStoppingError: the savepoint is complete, but the job failed afterwards, or ended
                with later checkpoints (`Finishing.WAIT_IN_EACH_TASK`).
            JobCancelledError: the job was cancelled after it had taken the savepoint, which the error names.
        """
        self._check_checkpointing()
        master = self.master
        master.life.check_not_stopping()  # before the folder is written to
        target = await self._savepoint_folder(folder)
        kind = CheckpointKind.TERMINATE if drain else CheckpointKind.SUSPEND
        answer = master.begin_stop(kind, target)
        self._note_refusal(answer, target)
        stop, ended = master.life.stop, master.life.stop_ended
        assert stop is not None
        assert ended is not None
        await shield(answer)
        await wait([ended, master.done], return_when=FIRST_COMPLETED)
        await shield(master.done)
        if stop.error is not None:
            raise stop.error
        if stop.result is None:
            raise JobCancelledError(f"the job ended; its savepoint is at {stop.path}")
        return stop.result

    def _check_checkpointing(self) -> None:
        if self.config.checkpoints is None:
            raise IllegalStateError(
                "checkpointing is not enabled for this job: give it JobConfig(checkpoints=CheckpointConfig())"
            )
        if self.master.state.is_terminal:
            raise CheckpointFailedError(
                Reason.CHECKPOINT_COORDINATOR_SHUTDOWN,
                f"Job {self.graph.name!r} is {self.state} and takes no more checkpoints; wait() says why.",
            )

    async def _savepoint_folder(self, folder: Folder | None) -> str:
        if folder is None:
            if self.config.savepoint_folder is None:
                raise IllegalStateError(
                    "no savepoint folder was given and the job has no default: give one, or set "
                    "JobConfig(savepoint_folder=...)"
                )
            folder = join(self.config.savepoint_folder, f"savepoint-{self._unique_id()[:8]}")
        folder = self.files.absolute(join(folder))
        found = await self.files.names(folder)
        if found and not (found == [IN_PROGRESS] and folder in self._unused):
            raise SavepointError(
                f"{folder} is not empty (it has {', '.join(found[:3])}): a savepoint needs a folder for "
                "itself; name an empty one"
            )
        try:
            await self.files.write(join(folder, IN_PROGRESS), b"")
        except OSError as error:
            raise SavepointError(f"{folder} cannot be written: {error}; name another folder") from error
        self._unused.discard(folder)
        return folder

    def _note_refusal(self, answer: asyncio.Future[CompletedCheckpoint], folder: str) -> None:
        """Note that a savepoint was refused at once. One that fails later deletes its folder."""
        if answer.done():
            self._unused.add(folder)

    # -- for views and faults ------------------------------------------------------------------------------

    def fail_subtask(self, subtask: SubtaskId, error: BaseException) -> None:
        """Fail a subtask as if one of its operators had raised ``error``.

        Raises:
            BadInputError: the job has no such subtask.
        """
        execution = self.master.executions.get(subtask)
        if execution is None:
            known = ", ".join(map(str, self.graph.subtasks()))
            raise BadInputError(f"the job has no subtask {subtask}; its subtasks are {known}")
        if execution.handle is not None:
            execution.handle.fail(error)

    def subtask_lost(self, subtask: SubtaskId, attempt: int, error: BaseException) -> None:
        """Fail an attempt that cannot report itself, because the place where it ran is gone."""
        self.master.state_changed(subtask, attempt, SubtaskState.FAILED, error)

    def observe_now(self) -> None:
        """Let every subtask report its throughput and the contents of its channels to the observer."""
        self.master.observe_now()

    def explain(self) -> list[str]:
        """Return sentences that say what the job does, and whom each pending checkpoint waits for."""
        master = self.master
        words = [f"Job {self.graph.name!r} is {master.state.value}."]
        counts: dict[str, int] = {}
        for execution in master.executions.values():
            counts[execution.state.value] = counts.get(execution.state.value, 0) + 1
        words.append("Subtasks: " + ", ".join(f"{n} {state}" for state, n in counts.items()) + ".")
        for pending in master.coordinator.pending.values():
            waits = ", ".join(pending.waits_for()) or "its metadata to be written"
            words.append(f"Checkpoint {pending.checkpoint_id} ({pending.stage.value}) waits for {waits}.")
        failures, newest = master.coordinator.failures, master.coordinator.newest_tolerated
        if failures.in_a_row and newest is not None and master.state is JobState.RUNNING:
            is_counted = reason_of(newest) is not Reason.TRIGGER_CHECKPOINT_FAILURE
            tolerated = (
                f"the job tolerates {failures.tolerable:,}" if is_counted else "this never fails the job"
            )
            words.append(
                f"{plural(failures.in_a_row, 'checkpoint')} failed in a row, and {tolerated}. "
                f"The last error: {message_of(newest).rstrip('.')}."
            )
        target = master.returns_to
        words.append(
            "No checkpoint is complete: after a failure the job would begin again."
            if target is None
            else f"A failure would go back to checkpoint {target.checkpoint_id} at {target.path}."
        )
        return words


async def execute(graph: JobGraph, config: JobConfig | None = None, **options: object) -> Job:
    """Start a job, wait for its end, and return it. ``options`` are those of `Job`.

    Raises:
        BadInputError: there is no interval between checkpoints, so the job would wait forever for the final
            one.
    """
    job = Job(graph, config, **options)  # type: ignore[arg-type]
    checkpoints = job.config.checkpoints
    if checkpoints is not None and checkpoints.interval_ms is None and checkpoints.after_tasks_finish:
        raise BadInputError(
            "the job would wait forever for its final checkpoint, which commits its last rows: give"
            " JobConfig(CheckpointConfig(interval_ms=1000)), or JobConfig(checkpoints=None), with which"
            " nothing survives a failure"
        )
    await job.start()
    await job.wait()
    return job


def run(graph: JobGraph, config: JobConfig | None = None, **options: object) -> Job:
    """Do what `execute` does, from code without an event loop.

    Raises `BadInputError` where one runs, as in a cell of a notebook, and starts nothing there.
    """
    return run_alone(execute(graph, config, **options), "await execute(graph, config)")


def run_alone(call: Coroutine[Any, Any, _T], instead: str) -> _T:
    """Run ``call`` in an event loop of its own. ``instead`` is what to write where a loop runs already."""
    try:
        return asyncio.run(call)
    except RuntimeError:
        if getcoroutinestate(call) != CORO_CREATED:  # asyncio has begun it, so the error is its own
            raise
        call.close()
        raise BadInputError(
            f"an event loop runs here already, as in a cell of a notebook: write {instead}"
        ) from None
