"""A job whose subtasks run in workers: the methods of `job.Job`, but synchronous."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from pravega_lab.errors import BadInputError
from pravega_lab.portable.waiting import shield

from ..flow.checkpoint.handles import CompletedCheckpoint
from ..flow.elements import SubtaskId
from ..flow.errors import IllegalStateError
from ..flow.files import Files, Folder, FsspecFiles
from ..flow.graph.graph import JobGraph, check_graph
from ..flow.master.config import JobConfig, check_config, check_number
from ..flow.master.job import Job
from ..flow.observer import Observer
from .driver.driver import Driver
from .driver.epoch import WorkerInfo
from .driver.launching import Launcher
from .driver.placement import check_files, default_workers
from .errors import NotEnoughSlotsError

T = TypeVar("T")
OVER = ("finished", "failed", "cancelled")


class ClusterJob:
    """Run a graph once, in workers. The master, the enumerators and the hooks run in a thread of this
    process.

    The methods wait, and may be called from any thread except the job's own. The workers end with the job.
    Its thread ends with `close`, or when nothing refers to the job any more after its end.

    Args:
        graph: The job.
        config: As for `Job`. All workers must be able to access ``config.folder``.
        workers: The number of processes. The default is the number of subtasks of the widest vertex, but at
            most the
            number of slots. Subtask i of a vertex with n subtasks runs in worker ``i * workers // n``.
        restore_from: As for `Job`, possibly of another parallelism.
        files: Where checkpoints are stored. The workers get a copy.
        observer: Receives every observation, in the job's thread. `JobObserver` may be read from any thread.
        host: The address on which the driver listens, and where workers connect.
        start_timeout_s: The time in which the workers must connect.
        cancel_timeout_s: The time in which a cancelled subtask must end. After it, the epoch of its worker
            ends.

    Raises:
        BadInputError: ``workers`` is no whole number of at least 1, or checkpoints would be in the memory of
            one process.
        NotEnoughSlotsError: there can never be so many workers at a time.
    """

    def __init__(
        self,
        launcher: Launcher,
        graph: JobGraph,
        config: JobConfig | None = None,
        *,
        workers: int | None = None,
        restore_from: Folder | CompletedCheckpoint | None = None,
        files: Files | None = None,
        observer: Observer | None = None,
        host: str | None = None,
        start_timeout_s: float = 60,
        cancel_timeout_s: float = 30,
    ) -> None:
        check_graph(graph)
        self.graph, self.config = graph, config or JobConfig()
        check_config(self.config)
        files = files or FsspecFiles(private=True)
        check_files(self.config, files)
        slots = launcher.slots()
        self.workers_wanted = default_workers(graph, slots) if workers is None else workers
        _check_workers(self.workers_wanted, None if launcher.may_grow() else slots, launcher.few)
        self._driver = Driver(
            launcher,
            self.workers_wanted,
            self.config,
            host=host or launcher.default_host(),
            start_timeout_s=start_timeout_s,
            cancel_timeout_s=cancel_timeout_s,
        )
        self._options: dict[str, Any] = {"restore_from": restore_from, "files": files, "observer": observer}
        self._job: Job | None = None
        self._thread: threading.Thread | None = None
        self._closing: asyncio.Task[None] | None = None

    # -- running -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the workers and deploy the job. Return when the workers have connected.

        Raises:
            WorkersNotStartedError, WorkerLostError: the workers did not connect. The message says what may
                help.
            BadInputError: something in the graph cannot be sent to another process.
            DamagedCheckpointError, RestoreError: see `Job.start`.
        """
        if self._thread is not None:
            raise IllegalStateError("the job was started before: make another one")
        self._loop = asyncio.new_event_loop()
        name = f"job {self.graph.name}"
        self._thread = threading.Thread(target=_run_loop, args=(self._loop,), name=name, daemon=True)
        self._thread.start()
        weakref.finalize(self, _stop_loop, self._loop).atexit = False
        try:
            self._run(self._start())
        except BaseException:
            self._run(self._close())
            self._end_thread()
            raise

    async def _start(self) -> None:
        await self._driver.listen()
        job = Job(self.graph, self.config, home=self._driver, **self._options)
        await job.start()
        self._job = job
        try:
            await self._driver.acquire()
        except BaseException:
            await job.cancel()
            raise
        self._closing = asyncio.get_running_loop().create_task(self._close_with(job))

    async def _close_with(self, job: Job) -> None:
        await shield(job.master.done)
        await self._driver.close()

    async def _close(self) -> None:
        if self._job is not None:
            await self._job.cancel()
        if self._closing is not None:
            await shield(self._closing)
        else:
            await self._driver.close()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until the job has finished and its workers have ended.

        Raises:
            JobFailedError, StopWithSavepointStoppingError, JobCancelledError: see `Job.wait`.
            TimeoutError: it has not finished within ``timeout_s``. The job continues.
        """

        async def wait() -> None:
            assert self._closing is not None
            async with asyncio.timeout(timeout_s):
                await shield(self._closing)
            await self.job.wait()

        self._ask(wait())

    def cancel(self) -> None:
        """Cancel the job. What is not committed yet will not be."""

        async def cancel() -> None:
            await self.job.cancel()
            if self._closing is not None:
                await shield(self._closing)

        self._ask(cancel())

    def close(self) -> None:
        """Cancel the job if it runs, and end the job's thread."""
        if self._thread is not None and self._thread.is_alive():
            if self._job is not None and self.state not in OVER:
                self.cancel()
            self._run(self._close())
            self._end_thread()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    # -- checkpoints ---------------------------------------------------------------------------------------

    def trigger_checkpoint(self) -> CompletedCheckpoint:
        """Take a checkpoint and return it; see `Job.trigger_checkpoint`."""
        return self._ask(self.job.trigger_checkpoint())

    def trigger_savepoint(self, folder: Folder | None = None) -> str:
        """Take a savepoint and return its folder; see `Job.trigger_savepoint`."""
        return self._ask(self.job.trigger_savepoint(folder))

    def stop_with_savepoint(self, folder: Folder | None = None, *, drain: bool = False) -> str:
        """Stop with a savepoint, and return its folder when the workers have ended; see
        `Job.stop_with_savepoint`.
        """

        async def stop() -> str:
            path = await self.job.stop_with_savepoint(folder, drain=drain)
            if self._closing is not None:
                await shield(self._closing)
            return path

        return self._ask(stop())

    @property
    def latest_checkpoint(self) -> CompletedCheckpoint | None:
        """Return the newest checkpoint of this job, None before its first; see `Job.latest_checkpoint`."""
        return self.job.latest_checkpoint

    # -- looking -------------------------------------------------------------------------------------------

    @property
    def job(self) -> Job:
        """Return the underlying job. Its coroutines belong to the job's thread.

        Raises:
            IllegalStateError: it was not started.
        """
        if self._job is None:
            raise IllegalStateError("the job was not started: call start() first")
        return self._job

    @property
    def state(self) -> str:
        """Return ``created`` or a state of `observer.JobStateChanged`."""
        return "created" if self._job is None else self._job.state

    @property
    def workers(self) -> Sequence[WorkerInfo]:
        """Return the current worker processes: index, epoch, pid and host."""
        return self._driver.workers

    @property
    def epoch(self) -> int:
        """Return how often workers were started for this job: once, and again after each loss."""
        return self._driver.epoch

    def observe_now(self) -> None:
        """Sample throughput and channels. The observer receives the samples soon afterwards."""
        self._loop.call_soon_threadsafe(self.job.observe_now)

    def fail_subtask(self, subtask: SubtaskId, error: BaseException) -> None:
        """Fail a subtask as if one of its operators had raised ``error``."""
        self._loop.call_soon_threadsafe(self.job.fail_subtask, subtask, error)

    def explain(self) -> list[str]:
        """Return sentences: what the job does, which subtasks each pending checkpoint waits for, and where
        the workers are.
        """
        job = self.job

        async def explain() -> list[str]:
            return job.explain()

        if self.state in OVER:
            return job.explain()
        where = ", ".join(f"{info.index} (pid {info.pid} on {info.host})" for info in self.workers)
        workers = f"Epoch {self.epoch} of its workers: {where or 'none has come yet'}."
        return [*self._ask(explain()), workers]

    # -- its thread ----------------------------------------------------------------------------------------

    def _ask(self, coro: Coroutine[Any, Any, T]) -> T:
        if self._thread is None or not self._thread.is_alive():
            coro.close()
            raise IllegalStateError("the job does not run in this process: it was not started, or was closed")
        return self._run(coro)

    def _run(self, coro: Coroutine[Any, Any, T]) -> T:
        if threading.current_thread() is self._thread:
            coro.close()
            raise IllegalStateError("this call waits for the job's own thread: use the methods of .job there")
        future = asyncio.run_coroutine_threadsafe(coro, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _end_thread(self) -> None:
        assert self._thread is not None
        _stop_loop(self._loop)
        self._thread.join()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _stop_loop(loop: asyncio.AbstractEventLoop) -> None:
    with suppress(RuntimeError):  # it is closed
        loop.call_soon_threadsafe(loop.stop)


def _check_workers(workers: int, slots: int | None, few: str) -> None:
    check_number("workers", workers)
    if workers < 1:
        raise BadInputError(f"workers={workers}: at least 1")
    if slots is not None and workers > slots:
        raise NotEnoughSlotsError(
            f"workers={workers}, and there are {slots} slots: all workers run at the same time, so ask for "
            f"{slots} at most (each hosts several subtasks){few}"
        )
