"""`SimulationLoop`: an asyncio event loop under virtual time, in which a run is a function of its seed.

Its rules are:

1. Time is a whole number of microseconds (`now_us`). It advances only when nothing is runnable, and then
  jumps to the next timer.
2. The seed decides which runnable *task* takes the next step. Everything else (callbacks of transports and
  futures, expired timers) stays in the order in which it was scheduled, so the callbacks of one transport
  keep their order. The draw chooses between the first of these and the runnable tasks.
3. The draw orders runnable tasks by their number of creation and not by the order of waking. asyncio keeps
  tasks in sets, whose order differs from process to process.
4. Steps of a dead `Process` are dropped.

`network.py` makes the connections. Threads, signals, subprocesses and the sockets of the machine do not exist
here. Asking for them raises `OutsideWorldError`, because no seed could repeat them.
"""

from __future__ import annotations

import asyncio
import sys
import weakref
from asyncio import events
from bisect import insort
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import Context
from heapq import heappop, heappush
from math import ceil
from random import Random
from types import CoroutineType
from typing import Any, NoReturn, TypeVar

from pravega_lab.errors import PravegaError

from .faults import EVERYTHING, Faults, Plan
from .handles import SimulatedHandle
from .network import Network
from .planted import withdraw
from .process import CURRENT, Process, current_process, owner_of
from .virtual_time import VirtualTimeLoop

T = TypeVar("T")

START_US = 1_000_000_000  # not 0, which code easily mistakes for "none"
US_PER_S = 1_000_000
CASTING = ("scenario", "groups")  # generators that draw who takes part and which faults may happen
STEPS_PER_INSTANT_MAX = 200_000  # a task that polls without waiting would stop time forever
CANCELLED_AT_MOST = 3  # times, when a loop is disposed of


class SimulationError(PravegaError):
    """Raised when the simulated program does something wrong, or something that a simulation
    cannot repeat.
    """


class DeadlockError(SimulationError):
    """Raised when a task waits, but nothing is runnable and nothing is scheduled.

    The message lists the waiting tasks and where each waits.
    """


class LivelockError(SimulationError):
    """Raised when steps at one instant do not end, because a task polls without waiting."""


class StepLimitError(SimulationError):
    """Raised when a run takes more steps than its plan allows."""


class OutsideWorldError(SimulationError, NotImplementedError):
    """Raised when the program asks for a thread, signal, socket or subprocess of the real machine."""


class SimulatedTask(asyncio.Task[T]):
    """A task with a number, which orders the runnable tasks for the draw."""

    number: int = 0
    process: Process | None = None


class SimulationLoop(VirtualTimeLoop):
    """An asyncio loop in which the seed decides about time and order. Use ``run_until_complete(main())``."""

    network: Network

    def __init__(self, seed: int | str, plan: Plan = EVERYTHING) -> None:
        self.seed = seed
        self.faults = Faults(plan, lambda: (self.now_us, self.steps))
        self._generators_drawn: dict[str, list[Random]] = {}
        self._steps_max, self._until = plan.steps_max, plan.until
        # where generators or code change, and then the most steps; a step costs one comparison with the next
        self._reseeds = deque(plan.reseeds(seed))
        self._next_stop = self._find_next_stop()
        self.now_us = START_US
        self.steps = 0
        self.draws = 0  # a checksum of all draws; two runs with equal checksums took the same path
        self.errors: list[str] = []
        self._draw = self.random("tasks").random
        self._callbacks: deque[SimulatedHandle] = deque()
        self._runnable: list[tuple[int, int, SimulatedHandle]] = []
        self._timers: list[tuple[int, int, SimulatedHandle]] = []
        self._scheduled = 0
        self._tasks: dict[int, weakref.ref[SimulatedTask[Any]]] = {}
        self._dead_tasks: list[SimulatedTask[Any]] = []
        self._dropped: list[SimulatedHandle] = []
        self._task_count = 0
        self._steps_here = 0
        self._running = False
        self._stopping = False
        self._closed = False
        self._exception_handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None
        self._generators: list[weakref.ref[AsyncGenerator[Any, Any]]] = []
        self.network = Network(self, self.random("network"))

    def random(self, name: str) -> Random:
        """Return a new generator of the part ``name``. Generators of one name draw the same numbers."""
        generator = Random(f"{self.seed}/{name}")  # it hashes a text with SHA-512, not with hash()
        self._generators_drawn.setdefault(name, []).append(generator)
        return generator

    def _stop_here(self) -> None:
        if self.steps == self._steps_max:
            raise StepLimitError(
                f"the run has not ended after {self.steps} steps, the most that its plan allows"
            )
        if self.steps == self._until:
            self._until = None
            withdraw()
        if self._reseeds and self._reseeds[0][0] <= self.steps:
            self._change_generators()
        self._next_stop = self._find_next_stop()

    def _change_generators(self) -> None:
        while self._reseeds and self._reseeds[0][0] <= self.steps:
            self.seed = self._reseeds.popleft()[1]
        self.faults.reseeded_us = self.now_us
        for name, generators in self._generators_drawn.items():
            for n, generator in enumerate(generators if name not in CASTING else ()):
                generator.seed(f"{self.seed}/{name}/{n}")

    def _find_next_stop(self) -> int:
        stops = [*(step for step, _ in self._reseeds), self._steps_max, self._until]
        return min((step for step in stops if step is not None), default=-1)

    # -- time and order ------------------------------------------------------------------------------------

    def time(self) -> float:
        """Return the virtual time in seconds, as asyncio expects. ``now_us`` is the exact number."""
        return self.now_us / US_PER_S

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if self._closed:
            self._check_open()
        handle = SimulatedHandle(0.0, callback, args, self, context)
        task = getattr(callback, "__self__", None)
        if isinstance(task, SimulatedTask):
            self._scheduled += 1
            insort(self._runnable, (task.number, self._scheduled, handle))
        else:
            self._callbacks.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now_us / US_PER_S + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        when_us = ceil(when * US_PER_S)
        # Never fire early by the last bit of a float: waiting again for the remaining time would loop forever
        # with a timeout of zero.
        return self.call_at_us(when_us + (when_us / US_PER_S < when), callback, *args, context=context)

    def call_at_us(
        self, when_us: int, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Schedule a callback as `call_at` does, at a time in virtual microseconds."""
        if self._closed:
            self._check_open()
        handle = SimulatedHandle(when_us / US_PER_S, callback, args, self, context)
        self._scheduled += 1
        heappush(self._timers, (when_us if when_us > self.now_us else self.now_us, self._scheduled, handle))
        return handle

    def reseed(self, seed: int | str) -> None:
        """Draw from another seed from now on: the run takes another course from here."""
        self._draw = Random(f"{seed}/tasks").random
        self.network.chance = Random(f"{seed}/network")

    def _next_handle(self) -> SimulatedHandle | None:
        """Return the next step, or None if all tasks wait for time to pass."""
        n_runnable = len(self._runnable)
        choices = n_runnable + 1 if self._callbacks else n_runnable
        if choices > 1:
            index = int(self._draw() * choices)
            self.draws = (self.draws * 31 + index) & 0xFFFFFFFFFFFF
            return self._runnable.pop(index)[2] if index < n_runnable else self._callbacks.popleft()
        if not choices:
            return None
        return self._runnable.pop()[2] if n_runnable else self._callbacks.popleft()

    def _advance(self) -> bool:
        """Advance time to the next timer and make all timers of that instant ready; False if
        there is none.
        """
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heappop(timers)
        if not timers:
            return False
        self.now_us = now_us = timers[0][0]
        self._steps_here = 0
        while timers and timers[0][0] == now_us:
            handle = heappop(timers)[2]
            if not handle._cancelled:
                self._callbacks.append(handle)
        return True

    def _run_once(self) -> bool:
        """Take one step or advance time; False if neither is possible."""
        handle = self._next_handle()
        if handle is None:
            return self._advance()
        if handle._cancelled:
            return True
        process = handle._context.get(CURRENT)
        if process is not None and not process.alive:
            self._dropped.append(handle)
            return True
        if self.steps == self._next_stop:
            self._stop_here()
        self.steps += 1
        self._steps_here += 1
        if self._steps_here > STEPS_PER_INSTANT_MAX:
            raise LivelockError(
                f"{STEPS_PER_INSTANT_MAX} steps without time passing (at {self.now_us} us): a task polls "
                f"without waiting. Tasks:\n{self.waiting()}"
            )
        handle._run()
        return True

    # -- running -------------------------------------------------------------------------------------------

    @property
    def next_us(self) -> int | None:
        """When the next timer is due, or None if there is none."""
        while self._timers and self._timers[0][2]._cancelled:
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def run_ready(self) -> None:
        """Take all steps that are possible without advancing time."""
        self._check_open()
        with _Running(self):
            while self._callbacks or self._runnable:
                self._run_once()

    def run_instant(self) -> bool:
        """Advance time to the next timer and take all steps of that instant; False if nothing is
        scheduled.
        """
        self._check_open()
        with _Running(self):
            moved = self._advance()
            while self._callbacks or self._runnable:
                self._run_once()
        return moved

    def run_until_complete(self, future: Any) -> Any:
        """Run until ``future`` is done and return its result.

        Raises:
            DeadlockError: The future cannot become done, because nothing is runnable and nothing is
                scheduled.
        """
        self._check_open()
        main = asyncio.ensure_future(future, loop=self)
        with _Running(self):
            while not main.done():
                if not self._run_once():
                    raise DeadlockError(
                        f"nothing is runnable and nothing is scheduled at {self.now_us} us, yet these wait:\n"
                        f"{self.waiting()}"
                    )
        return main.result()

    def run_forever(self) -> None:
        """Run until `stop` is called or nothing is left to do. There is no outside event to wait for."""
        self._check_open()
        self._stopping = False
        with _Running(self):
            while not self._stopping and self._run_once():
                pass

    def stop(self) -> None:
        self._stopping = True

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        self._callbacks.clear()
        self._runnable.clear()
        self._timers.clear()

    def dispose(self) -> None:
        """Unwind all remaining tasks, also those of dead processes, and close. Errors are ignored now."""
        if self._closed:
            return
        self.set_exception_handler(lambda _loop, _context: None)
        with _Running(self):
            self._callbacks.extend(self._dropped)
            for _ in range(CANCELLED_AT_MOST):  # a task may wait once more, to tidy up
                for task in self.all_tasks():
                    task.cancel()
                self._run_what_is_ready()
        for task in self.all_tasks():
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.close()

    def _run_what_is_ready(self) -> None:
        for _ in range(STEPS_PER_INSTANT_MAX):
            handle = self._next_handle()
            if handle is None:
                break
            if not handle._cancelled:
                handle._run()

    def waiting(self) -> str:
        """Return the unfinished tasks of living processes, one per line, with the place where each waits."""
        living = [task for task in self.all_tasks() if task.process is None or task.process.alive]
        lines = [f"  {task.get_name()}: {_where(task.get_coro())}" for task in living]
        return "\n".join(lines) or "  (no task)"

    def all_tasks(self) -> list[SimulatedTask[Any]]:
        """Return the unfinished tasks in order of creation, unlike asyncio's own set."""
        tasks = [task for ref in self._tasks.values() if (task := ref()) is not None and not task.done()]
        self._tasks = {task.number: weakref.ref(task) for task in tasks}
        return tasks

    def spawn_process(self, name: str) -> Process:
        """Return a new process. Killing it breaks its open connections."""
        process = Process(self, name)
        process.at_death(lambda: self._bury(process))
        return process

    def _bury(self, process: Process) -> None:
        # Keep its tasks: garbage collection would run their ``finally`` blocks, and a kill runs none.
        self._dead_tasks.extend(task for task in self.all_tasks() if task.process is process)
        self.network.process_died(process)

    # -- futures, tasks, errors ----------------------------------------------------------------------------

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
        **_: object,
    ) -> asyncio.Task[T]:
        self._check_open()
        self._task_count += 1
        name = name or f"task-{self._task_count}"
        task: SimulatedTask[T] = SimulatedTask.__new__(SimulatedTask)
        task.number = self._task_count  # set before __init__, which schedules the first step
        task.process = current_process() if context is None else owner_of(context)
        task.__init__(coro, loop=self, name=name, context=context)  # type: ignore[misc]
        if len(self._tasks) > 1000:
            self.all_tasks()  # forget the finished ones
        self._tasks[task.number] = weakref.ref(task)
        return task

    def set_task_factory(self, factory: object) -> None:
        if factory is not None:
            raise OutsideWorldError("the simulation numbers its tasks itself: no task factory")

    def get_task_factory(self) -> None:
        return None

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        """Do nothing: asyncio's debug mode uses the machine's clock."""

    def set_exception_handler(self, handler: Any) -> None:
        self._exception_handler = handler

    def get_exception_handler(self) -> Any:
        return self._exception_handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Record the error in `errors`. A run with an unhandled error has failed."""
        error = context.get("exception")
        self.errors.append(f"{context.get('message')}: {error!r}" if error else str(context.get("message")))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._exception_handler is None:
            self.default_exception_handler(context)
        else:
            self._exception_handler(self, context)

    async def shutdown_asyncgens(self) -> None:
        for ref in self._generators:
            generator = ref()
            if generator is not None:
                await generator.aclose()
        self._generators.clear()

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        return None

    def _generator_begun(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators.append(weakref.ref(generator))

    def _generator_dropped(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self._closed:
            self.create_task(generator.aclose(), name="aclose")

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the simulation loop is closed")

    # -- connections ---------------------------------------------------------------------------------------

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        """Connect through the simulated network; `OSError` as on a real one. No TLS, no given socket."""
        _refuse_options("create_connection", options)
        return await self.network.connect(protocol_factory, str(host), int(port))

    async def create_server(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        """Listen on the simulated network. Port 0 chooses a free port."""
        _refuse_options("create_server", options)
        return self.network.listen(protocol_factory, str(host), int(port or 0))

    # -- what does not exist in here -----------------------------------------------------------------------

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        _outside("run_in_executor: a thread")

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Context | None = None) -> NoReturn:  # type: ignore[override]
        _outside("call_soon_threadsafe: another thread")

    def add_signal_handler(  # type: ignore[override]
        self, sig: int, callback: Any, *args: Any
    ) -> NoReturn:
        _outside("add_signal_handler: a signal")

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        _outside("add_reader: a file descriptor")

    def add_writer(self, fd: Any, callback: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        _outside("add_writer: a file descriptor")


class _Running:
    """Makes a loop the running one in a ``with`` block, and tracks abandoned async generators."""

    def __init__(self, loop: SimulationLoop) -> None:
        self._loop = loop

    def __enter__(self) -> None:
        if self._loop._running or events._get_running_loop() is not None:
            raise RuntimeError("an event loop is running already")
        self._hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(self._loop._generator_begun, self._loop._generator_dropped)
        self._loop._running = True
        events._set_running_loop(self._loop)

    def __exit__(self, *_: object) -> None:
        events._set_running_loop(None)
        self._loop._running = False
        sys.set_asyncgen_hooks(*self._hooks)


def _where(coro: object) -> str:
    """Return file, line and function of the innermost coroutine that ``coro`` waits in."""
    place = "not started"
    while isinstance(coro, CoroutineType) and coro.cr_frame is not None:
        code = coro.cr_frame.f_code
        place = f"{code.co_filename.rsplit('/', 1)[-1]}:{coro.cr_frame.f_lineno} {code.co_qualname}"
        coro = coro.cr_await
    return place


def _outside(what: str) -> NoReturn:
    raise OutsideWorldError(f"{what} of the real machine has no place in a simulation: no seed can repeat it")


def _refuse_options(call: str, options: dict[str, Any]) -> None:
    for name in ("ssl", "sock"):
        if options.get(name):
            _outside(f"{call}({name}=...): a connection")
