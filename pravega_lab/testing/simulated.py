"""`SimulatedPravega`: a Pravega under simulation for your own asyncio code: one event loop, virtual time,
faults from a seed.

The store, the client and the bytes between them are the real code. Time, network, disk and chance come from
the seed (docs/simulation.md). The code under test takes an `AsyncClient` and runs on the loop of
`SimulatedPravega.run`. It must not use threads, sockets or the clock of the machine.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from random import Random
from typing import Any, TypeVar

from pravega_lab.client.client import AsyncClient
from pravega_lab.engine.simulation.kernel.conditions import Conditions
from pravega_lab.engine.simulation.kernel.disk import DiskConditions
from pravega_lab.engine.simulation.kernel.journal import Journal
from pravega_lab.engine.simulation.kernel.links import ControllerPort
from pravega_lab.engine.simulation.kernel.loop import START_US, SimulationLoop
from pravega_lab.engine.simulation.kernel.process import Process
from pravega_lab.engine.simulation.kernel.run import contained
from pravega_lab.engine.simulation.store.scenarios import draw_trouble
from pravega_lab.engine.simulation.store.store_process import HOST, PORT
from pravega_lab.engine.simulation.store.world import World
from pravega_lab.errors import BadInputError
from pravega_lab.portable.alone import without_loop
from pravega_lab.portable.waiting import FIRST_COMPLETED, wait

T = TypeVar("T")


class SimulatedProgram:
    """A program of the simulation that can be killed, from `SimulatedPravega.start`."""

    def __init__(self, process: Process, task: asyncio.Task[Any]) -> None:
        self._process, self._task = process, task

    @property
    def is_done(self) -> bool:
        """Return whether it came to its end. A killed program never does."""
        return self._task.done()

    def kill(self) -> None:
        """Kill it between two steps. No line of it runs again, not even ``finally``; its connections
        break.
        """
        self._process.kill()

    async def ends(self, within_s: float | None = None) -> Any:
        """Wait for its end, and return what it returned or raise what it raised.

        Raises:
            TimeoutError: It is not done after ``within_s`` virtual seconds; a killed program never is.
        """
        done, _ = await wait([self._task], timeout=within_s)
        if not done:
            raise TimeoutError(f"{self._task.get_name()} is not done after {within_s:g} virtual seconds")
        return self._task.result()


class SimulatedPravega:
    """One simulated world. Create it, then call `run` once; everything else is for the coroutine that
    runs in it.

    Args:
        seed: Decides the order of tasks, delays and faults: the same seed gives the same run on any
            machine.
        repeat: How `summary` says that the run is repeated.
    """

    uri = f"tcp://{HOST}:{PORT}"

    def __init__(self, seed: int = 0, *, repeat: str = "") -> None:
        self.seed = seed
        self.chance = Random(f"{seed}/test")
        self._repeat = repeat
        self._loop = SimulationLoop(seed)  # type: ignore[abstract]  # the simulation has no use for the rest
        self._journal = Journal(lambda: self._loop.now_us)
        self._world = _TestWorld(self._loop, self._journal)
        self._ran = False

    # For the test.

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Start a store, run ``main`` to its end, and return what it returned, as ``asyncio.run`` does.
        Only once.

        Raises:
            AssertionError: ``main`` came to its end, but a task failed unnoticed or an error was logged.
            DeadlockError: No task can continue; the message lists which tasks wait, and where.

        Every error carries a note with the seed and the faults of that run; under pytest the report has it.
        """
        if self._ran:
            main.close()
            raise BadInputError(
                "run(): this world has had its run; make another SimulatedPravega, or the fixture's next seed"
            )
        self._ran = True
        with without_loop(), contained(self._loop) as errors:
            try:
                result: T = self._loop.run_until_complete(self._world.story(main))
                unseen = self._loop.errors + errors.messages
                if unseen:
                    raise AssertionError("the run ended, but not well: " + "; ".join(unseen))
                return result
            except BaseException as error:
                if not self._repeat:
                    error.add_note(self.summary())
                raise

    def summary(self) -> str:
        """Return the seed, the faults, how long the run took, and how to repeat it."""
        faults = ", ".join(f"{kind} {n}" for kind, n in sorted(self.faults.items()) if n) or "no faults"
        return (
            f"seed {self.seed} ({self.now_s:.1f} virtual s, {self._loop.steps} steps): {faults}; "
            f"repeat: {self._repeat or repr(self)}"
        )

    # For the coroutine that runs in it.

    def client(self, name: str = "client") -> AsyncClient:
        """Return a client of the store. Close it, or use it in ``async with``. ``name`` is part of its
        seed.
        """
        return self._world.client(name)

    def start(self, name: str, program: Coroutine[Any, Any, Any]) -> SimulatedProgram:
        """Run ``program`` as a process, which can be killed."""
        process = self._loop.spawn_process(name)
        return SimulatedProgram(process, process.spawn(program, name=name))

    def trouble(self, for_s: float = 3.0) -> None:
        """Draw from the seed what goes wrong in the next ``for_s`` virtual seconds. After that there are
        no faults.

        Connections are late, split, stalled, cut and refused; calls of the controller get lost; the disk is
        slow, full, or fails; the store is killed and comes back. Nothing that was acknowledged is lost.
        """
        self._world.begin_trouble(for_s)

    def heal(self) -> None:
        """End all faults."""
        self._world.heal()

    async def restart_store(self) -> None:
        """Kill the store, and wait until it is back from its disk. What was not acknowledged may be gone."""
        await self._world.restart()

    def log(self, what: str, **about: Any) -> None:
        """Write a line into the journal, with the virtual time. Values must be JSON values."""
        self._journal.add("test", what, **about)

    @property
    def journal(self) -> bytes:
        """Return what you and the world logged, line by line. Equal runs have equal bytes."""
        return self._journal.to_bytes()

    @property
    def now_s(self) -> float:
        """Return the virtual seconds since the beginning."""
        return (self._loop.now_us - START_US) / 1e6

    @property
    def network(self) -> Conditions:
        """Return how connections behave. Set a chance to cause one kind of fault."""
        return self._world.network.conditions

    @property
    def controller(self) -> ControllerPort:
        """Return how calls of the controller behave: ``lost_request_chance``, ``lost_answer_chance``."""
        return self._world.store.port

    @property
    def disk(self) -> DiskConditions:
        """Return how the store's disk behaves."""
        return self._world.store.disk.conditions

    @property
    def faults(self) -> Counter[str]:
        """Return how many faults of each kind there were so far."""
        return self._world.faults

    def __repr__(self) -> str:
        return f"SimulatedPravega(seed={self.seed})"


class _TestWorld(World):
    """A world whose story is the test's."""

    async def story(self, main: Coroutine[Any, Any, T]) -> T:
        try:
            await self.store.start()
        except BaseException:
            main.close()
            raise
        keeper = self._store_keeper = self.loop.create_task(self._keep_store(), name="keep store")
        told = self.loop.create_task(main, name="test")
        await wait([keeper, told], return_when=FIRST_COMPLETED)
        if not told.done():
            keeper.result()  # raises: the store ended by itself
        return await told

    def begin_trouble(self, for_s: float) -> None:
        self._calm = False
        draw_trouble(self, Random(f"{self.loop.seed}/trouble/{self.loop.now_us}"), "test")
        self.loop.call_later(for_s, self._heal)
        self.loop.create_task(self._kill_now_and_then(), name="kill store")

    async def _kill_now_and_then(self) -> None:
        while (life_s := self._draw_life_s(self.store_life_s_max)) is not None:
            await asyncio.sleep(life_s)
            if self._calm:
                return
            self.crashes["store crash"] += 1
            self.cut_power()

    def cut_power(self) -> None:
        """Crash the store. Its keeper waits a while and recovers it."""
        self.store.disk.on_power_cut()

    async def restart(self) -> None:
        life = self.store.process
        self.crashes["store crash"] += 1
        self.cut_power()
        while self.store.process is life or self.store.port.process is not self.store.process:
            await asyncio.sleep(0.01)

    def heal(self) -> None:
        self._heal()
