"""Virtual time, the seeded order of tasks, dead processes, and what the loop refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from pravega_lab.engine.simulation.kernel.loop import (
    DeadlockError,
    LivelockError,
    OutsideWorldError,
    SimulationLoop,
)

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def loop() -> Iterator[SimulationLoop]:
    loop = SimulationLoop(7)
    yield loop
    loop.dispose()


def order_of(seed: int, tasks: int = 6) -> list[int]:
    """Return the order in which equal tasks take their second steps."""
    loop, order = SimulationLoop(seed), []

    async def worker(number: int) -> None:
        await asyncio.sleep(0)
        order.append(number)

    async def main() -> None:
        await asyncio.gather(*(worker(n) for n in range(tasks)))

    loop.run_until_complete(main())
    return order


def test_time_jumps_to_the_next_timer_and_never_early(loop: SimulationLoop) -> None:
    async def main() -> list[int]:
        start = loop.now_us
        await asyncio.sleep(3600.5)
        long = loop.now_us - start
        deadline = loop.time() + 0.1 + 1e-9
        while loop.time() < deadline:
            await asyncio.sleep(deadline - loop.time())
        return [long, loop.now_us - start - long]

    assert loop.run_until_complete(main()) == [3_600_500_000, 100_001]


def test_timers_fire_by_time_then_in_order_of_scheduling(loop: SimulationLoop) -> None:
    fired: list[str] = []
    loop.call_later(0.2, fired.append, "late")
    loop.call_later(0.1, fired.append, "first")
    loop.call_later(0.1, fired.append, "second")
    loop.call_later(0.05, fired.append, "cancelled").cancel()
    loop.run_forever()
    assert fired == ["first", "second", "late"]


def test_the_seed_and_nothing_else_decides_which_task_steps() -> None:
    orders = {seed: order_of(seed) for seed in range(20)}
    assert all(order_of(seed) == order for seed, order in orders.items())
    assert len({tuple(order) for order in orders.values()}) > 10


def test_callbacks_keep_their_order(loop: SimulationLoop) -> None:
    seen: list[int] = []

    async def main() -> None:
        for n in range(50):
            loop.call_soon(seen.append, n)
            await asyncio.sleep(0)

    loop.run_until_complete(main())
    loop.run_forever()
    assert seen == list(range(50))


def test_a_deadlock_names_who_waits_and_where(loop: SimulationLoop) -> None:
    async def forgotten() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await asyncio.create_task(forgotten(), name="the reader")

    with pytest.raises(DeadlockError, match=r"the reader: locks.py:\d+ Event.wait"):
        loop.run_until_complete(main())


def test_polling_without_waiting_is_an_error(loop: SimulationLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pravega_lab.engine.simulation.kernel.loop.STEPS_PER_INSTANT_MAX", 100)

    async def main() -> None:
        while loop.time() < 2000:
            await asyncio.sleep(0)

    with pytest.raises(LivelockError, match="polls"):
        loop.run_until_complete(main())


def test_threads_signals_and_sockets_are_refused(loop: SimulationLoop) -> None:
    async def main() -> None:
        await asyncio.to_thread(print)

    with pytest.raises(OutsideWorldError, match="thread"):
        loop.run_until_complete(main())
    with pytest.raises(OutsideWorldError, match="signal"):
        loop.add_signal_handler(2, print)
    with pytest.raises(OutsideWorldError, match="sock"):
        loop.run_until_complete(loop.create_connection(asyncio.Protocol, sock=object()))


def test_timeouts_and_task_groups_work(loop: SimulationLoop) -> None:
    async def main() -> list[str]:
        outcome = []
        try:
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        except TimeoutError:
            outcome.append(f"timeout at {loop.now_us}")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(1000))
                group.create_task(asyncio.wait_for(asyncio.sleep(9), 1))
        except* TimeoutError:
            outcome.append(f"group at {loop.now_us}")
        return outcome

    assert loop.run_until_complete(main()) == ["timeout at 1005000000", "group at 1006000000"]


def test_a_killed_process_stops_between_two_steps(loop: SimulationLoop) -> None:
    lines: list[str] = []

    async def busy() -> None:
        try:
            while True:
                lines.append("step")
                await asyncio.sleep(1)
        finally:
            lines.append("finally")

    async def main() -> None:
        process = loop.spawn_process("store")
        process.spawn(busy())
        process.run(loop.call_later, 2.5, lines.append, "timer")
        await asyncio.sleep(1.5)
        process.kill()
        lines.append("killed")
        await asyncio.sleep(10)

    loop.run_until_complete(main())
    assert lines == ["step", "step", "killed"]


def test_children_of_a_process_die_with_it(loop: SimulationLoop) -> None:
    lines: list[str] = []

    async def child() -> None:
        await asyncio.sleep(2)
        lines.append("child")

    async def parent() -> None:
        await asyncio.create_task(child())

    async def main() -> None:
        first, second = loop.spawn_process("first"), loop.spawn_process("second")
        first.spawn(parent())
        second.spawn(parent())
        await asyncio.sleep(1)
        first.kill()
        await asyncio.sleep(10)

    loop.run_until_complete(main())
    assert lines == ["child"]


def test_an_error_that_nobody_awaits_is_kept(loop: SimulationLoop) -> None:
    def broken() -> None:
        raise ValueError("lost")

    loop.call_soon(broken)
    loop.run_forever()
    assert len(loop.errors) == 1
    assert "ValueError('lost')" in loop.errors[0]


def test_abandoned_generators_are_closed(loop: SimulationLoop) -> None:
    lines: list[str] = []

    async def numbers() -> Any:
        try:
            for n in range(10):
                yield n
        finally:
            lines.append("closed")

    async def main() -> None:
        async for n in numbers():
            if n == 2:
                break
        await asyncio.sleep(1)

    loop.run_until_complete(main())
    assert lines == ["closed"]
