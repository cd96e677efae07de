"""A running job: start it, watch it, take savepoints, stop it.

::

    job = Job(graph, JobConfig(...))
    await job.start()
    path = await job.stop_with_savepoint("savepoints/1", drain=False)

`run` does all of it for a bounded job, from code that has no event loop.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable

from pravega_lab.engine.flow import metadata
from pravega_lab.engine.flow.channels import Wire
from pravega_lab.engine.flow.config import JobConfig
from pravega_lab.engine.flow.elements import CheckpointKind, SubtaskId
from pravega_lab.engine.flow.errors import IllegalStateError, JobCancelledError, SavepointError
from pravega_lab.engine.flow.files import Files, FsspecFiles, join
from pravega_lab.engine.flow.graph import JobGraph
from pravega_lab.engine.flow.handles import CompletedCheckpoint
from pravega_lab.engine.flow.hosting import Home, LocalHost, LocalWire, TaskHost
from pravega_lab.engine.flow.life import SubtaskState
from pravega_lab.engine.flow.master import JobMaster
from pravega_lab.engine.flow.observer import NoObserver, Observer
from pravega_lab.engine.flow.operator import RuntimeMode
from pravega_lab.engine.flow.stop import StopWithSavepoint


def wall_ms() -> int:
    """The machine's clock."""
    return time.time_ns() // 1_000_000


class Job:
    """One execution of a graph. ``files``: where checkpoints lie, fsspec unless something else is given.

    ``restore_from``: the folder of a checkpoint or savepoint to begin with. ``wire``, ``host``, ``now_ms``,
    ``unique_id``, ``home``: time, chance and places, for homes other than this event loop.
    """

    def __init__(
        self,
        graph: JobGraph,
        config: JobConfig | None = None,
        *,
        restore_from: str | None = None,
        files: Files | None = None,
        observer: Observer | None = None,
        wire: Wire | None = None,
        host: TaskHost | None = None,
        now_ms: Callable[[], int] = wall_ms,
        unique_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        job_id: str | None = None,
        home: Home | None = None,
    ) -> None:
        self.graph, self.config = graph, config or JobConfig()
        self.files = files or FsspecFiles()
        self._restore_from = restore_from
        self._observer: Observer = observer or NoObserver()
        self._wire: Wire = wire or LocalWire()
        self._host: TaskHost = host or LocalHost()
        self._now_ms, self._unique_id, self._job_id = now_ms, unique_id, job_id
        self._home = home
        self.master: JobMaster

    async def start(self) -> None:
        """Deploy it.

        Raises:
            DamagedCheckpointError: ``restore_from`` is no checkpoint, or is damaged.
            RestoreError: it does not fit the graph.
            JobCancelledError: it was cancelled meanwhile.
            BadInputError: batch execution was asked for.
        """
        if self.config.mode is RuntimeMode.BATCH:
            raise IllegalStateError("batch execution has no running job: use batch_mode.run_batch")
        restore = None
        if self._restore_from is not None:
            restore = await metadata.load(self.files, self._restore_from)
        self.master = JobMaster(
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
        await self.master.start(restore)

    @property
    def state(self) -> str:
        """See `observer.JobStateChanged`."""
        return self.master.state

    async def wait(self) -> None:
        """Until it has finished.

        Raises:
            JobFailedError: it failed, and its restart strategy gave up; the cause is the last failure.
            StopWithSavepointStoppingError: it did not stop in order after its savepoint.
            JobCancelledError: it was cancelled.
        """
        await asyncio.shield(self.master.done)
        if self.master.failure is not None:
            raise self.master.failure

    async def cancel(self) -> None:
        """End it; what was not committed is not."""
        await self.master.cancel()

    # -- checkpoints ---------------------------------------------------------------------------------------

    @property
    def latest_checkpoint(self) -> CompletedCheckpoint | None:
        """What a failure would go back to."""
        return self.master.coordinator.store.latest

    async def trigger_checkpoint(self) -> CompletedCheckpoint:
        """Take one now, beside the periodic ones.

        Raises:
            CheckpointFailedError: with the reason.
            IllegalStateError: the job has no checkpoints.
        """
        self._check_checkpointing()
        coordinator = self.master.coordinator
        return await self.master.ask(coordinator.request(CheckpointKind.CHECKPOINT, self._now_ms()))

    async def trigger_savepoint(self, folder: str | None = None) -> str:
        """A savepoint in ``folder``, which is empty or not there; the job goes on. Returns the folder.

        Raises:
            SavepointError: the folder is not empty or cannot be written.
            CheckpointFailedError: the savepoint failed.
        """
        self._check_checkpointing()
        target = await self._savepoint_folder(folder)
        request = self.master.coordinator.request(CheckpointKind.SAVEPOINT, self._now_ms(), target=target)
        return (await self.master.ask(request)).path

    async def stop_with_savepoint(self, folder: str | None = None, *, drain: bool = False) -> str:
        """Stop reading, take a savepoint, commit, end. ``drain``: event time goes to its end first, and
        operators finish, for a job that will not go on. Returns the folder.

        Raises:
            IllegalStateError: no folder is given and there is no default; the job has no checkpoints.
            SavepointError: the folder is not empty or cannot be written.
            CheckpointFailedError: the savepoint failed; the job goes on.
            StopWithSavepointStoppingError: the savepoint is there, but the job failed afterwards.
        """
        self._check_checkpointing()
        target = await self._savepoint_folder(folder)
        master = self.master
        stop = master.stop = StopWithSavepoint(self.graph.name)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        master.on_stop_ended = lambda: None if ended.done() else ended.set_result(None)
        master.coordinator.stop_scheduler()
        kind = CheckpointKind.TERMINATE if drain else CheckpointKind.SUSPEND
        request = master.stop_request = master.coordinator.request(kind, self._now_ms(), target=target)
        answer = master.ask(request)
        try:
            await asyncio.shield(answer)
        except Exception:
            if master.state == "running":
                master.coordinator.start_scheduler(self._now_ms())
                master.act()
            raise
        await asyncio.wait([ended, master.done], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.shield(master.done)
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

    async def _savepoint_folder(self, folder: str | None) -> str:
        if folder is None:
            if self.config.savepoint_folder is None:
                raise IllegalStateError(
                    "no savepoint folder was given and the job has no default: give one, or set "
                    "JobConfig(savepoint_folder=...)"
                )
            folder = join(self.config.savepoint_folder, f"savepoint-{self._unique_id()[:8]}")
        folder = join(folder)
        found = await self.files.names(folder)
        if found:
            raise SavepointError(
                f"{folder} is not empty (it has {', '.join(found[:3])}): a savepoint wants a folder "
                f"of its own"
            )
        try:
            await self.files.write(join(folder, "_in_progress"), b"")
        except OSError as error:
            raise SavepointError(f"{folder} cannot be written: {error}; name another folder") from error
        return folder

    # -- for views and faults ------------------------------------------------------------------------------

    def fail_subtask(self, subtask: SubtaskId, error: BaseException) -> None:
        """Let a subtask fail, as if its operators had raised."""
        task = self.master.executions[subtask].handle
        if task is not None:
            task.fail(error)

    def subtask_lost(self, subtask: SubtaskId, attempt: int, error: BaseException) -> None:
        """Where it ran is gone, and nobody will report."""
        self.master.state_changed(subtask, attempt, SubtaskState.FAILED, error)

    def observe_now(self) -> None:
        """Sample throughput and channels for the observer."""
        self.master.observe_now()

    def explain(self) -> list[str]:
        """In sentences: what the job does, and whom each pending checkpoint waits for."""
        master = self.master
        words = [f"Job {self.graph.name!r} is {master.state}."]
        counts: dict[str, int] = {}
        for execution in master.executions.values():
            counts[execution.state.value] = counts.get(execution.state.value, 0) + 1
        words.append("Subtasks: " + ", ".join(f"{n} {state}" for state, n in counts.items()) + ".")
        for pending in master.coordinator.pending.values():
            waits = ", ".join(pending.waits_for()) or "its metadata to be written"
            words.append(f"Checkpoint {pending.checkpoint_id} ({pending.stage.value}) waits for {waits}.")
        latest = master.coordinator.store.latest
        words.append(
            "No checkpoint is complete: a failure would begin anew."
            if latest is None
            else f"A failure would go back to checkpoint {latest.checkpoint_id} at {latest.path}."
        )
        return words


async def execute(graph: JobGraph, config: JobConfig | None = None, **options: object) -> Job:
    """Start a job and wait for its end. Options as of `Job`."""
    job = Job(graph, config, **options)  # type: ignore[arg-type]
    await job.start()
    await job.wait()
    return job


def run(graph: JobGraph, config: JobConfig | None = None, **options: object) -> Job:
    """`execute`, from code without an event loop."""
    return asyncio.run(execute(graph, config, **options))
