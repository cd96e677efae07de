"""`pravega_lab.portable.waiting` behaves as asyncio does, and its steps are the same on every Python."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from types import ModuleType
from typing import Any

import pytest

from pravega_lab.engine.simulation.kernel.loop import SimulationLoop
from pravega_lab.portable import waiting

BOTH = pytest.mark.parametrize("module", [asyncio, waiting], ids=["asyncio", "ours"])


def run(main: Coroutine[Any, Any, Any]) -> Any:
    loop = SimulationLoop(1)  # type: ignore[abstract]
    try:
        return loop.run_until_complete(main)
    finally:
        loop.dispose()


async def value(result: Any, after_s: float = 0.0) -> Any:
    await asyncio.sleep(after_s)
    if isinstance(result, BaseException):
        raise result
    return result


async def outcome(awaitable: Awaitable[Any]) -> Any:
    """The result, or the type of the error and its text."""
    try:
        return await awaitable
    except (Exception, asyncio.CancelledError) as error:
        return type(error), str(error)


@BOTH
def test_gather_returns_results_in_the_order_of_its_arguments(module: ModuleType) -> None:
    async def main() -> None:
        assert await module.gather() == []
        assert await module.gather(value(1, 2.0), value(2, 1.0)) == [1, 2]
        ended = asyncio.ensure_future(value(3))
        await ended
        assert await module.gather(ended, value(4), ended) == [3, 4, 3]

    run(main())


@BOTH
def test_gather_fails_with_the_first_error_and_the_others_run_on(module: ModuleType) -> None:
    async def main() -> None:
        slow = asyncio.ensure_future(value("slow", 3.0))
        bad = [value(ValueError("first"), 1.0), value(ValueError("second"), 2.0)]
        assert await outcome(module.gather(slow, *bad)) == (ValueError, "first")
        assert await slow == "slow"

    run(main())


@BOTH
def test_gather_returns_errors_and_cancellations_if_asked(module: ModuleType) -> None:
    async def main() -> None:
        never = asyncio.ensure_future(value(0, 100.0))
        asyncio.get_running_loop().call_later(1.0, never.cancel)
        got = await module.gather(value(1), value(KeyError("x")), never, return_exceptions=True)
        assert got[0] == 1
        assert [type(error) for error in got[1:]] == [KeyError, asyncio.CancelledError]

    run(main())


@BOTH
@pytest.mark.parametrize("return_exceptions", [False, True])
def test_cancelling_gather_cancels_what_still_runs(module: ModuleType, return_exceptions: bool) -> None:
    async def main() -> None:
        done = asyncio.ensure_future(value(1))
        slow = [asyncio.ensure_future(value(n, 50.0)) for n in range(2)]
        together = module.gather(done, *slow, return_exceptions=return_exceptions)
        waiter = asyncio.ensure_future(outcome(together))
        await asyncio.sleep(1.0)
        assert together.cancel()
        assert (await waiter)[0] is asyncio.CancelledError
        assert not done.cancelled()
        await asyncio.sleep(0)
        assert all(task.cancelled() for task in slow)
        assert not together.cancel()

    run(main())


@BOTH
def test_wait_returns_what_ended_and_cancels_nothing(module: ModuleType) -> None:
    async def main() -> None:
        quick, slow = (asyncio.ensure_future(value(n, n)) for n in (1, 5))
        assert await module.wait([quick, slow], return_when=asyncio.FIRST_COMPLETED) == ({quick}, {slow})
        assert await module.wait([quick, slow], timeout=0.5) == ({quick}, {slow})
        assert await module.wait({quick, slow}) == ({quick, slow}, set())
        assert slow.result() == 5
        with pytest.raises(ValueError, match=r"at least one|empty"):
            await module.wait([])

    run(main())


@BOTH
def test_a_wait_that_is_cancelled_leaves_its_inputs_alone(module: ModuleType) -> None:
    async def main() -> None:
        slow = asyncio.ensure_future(value("slow", 5.0))
        waits = asyncio.ensure_future(module.wait([slow], timeout=100.0))
        await asyncio.sleep(1.0)
        waits.cancel()
        assert (await outcome(waits))[0] is asyncio.CancelledError
        assert await slow == "slow"

    run(main())


@BOTH
def test_wait_for_cancels_what_does_not_end_in_time(module: ModuleType) -> None:
    async def main() -> None:
        assert await module.wait_for(value(1, 1.0), 2.0) == 1
        assert await outcome(module.wait_for(value(ValueError("x")), 2.0)) == (ValueError, "x")
        slow = asyncio.ensure_future(value(1, 9.0))
        assert await outcome(module.wait_for(slow, 2.0)) == (TimeoutError, "")
        assert slow.cancelled()
        slow = asyncio.ensure_future(value(1, 9.0))
        waits = asyncio.ensure_future(module.wait_for(slow, 5.0))
        await asyncio.sleep(1.0)
        waits.cancel()
        assert (await outcome(waits))[0] is asyncio.CancelledError
        assert slow.cancelled()

    run(main())


@pytest.mark.parametrize("ended", [1, ValueError("x")])
def test_wait_for_keeps_a_cancellation_that_comes_when_its_awaitable_has_ended(ended: Any) -> None:
    """As asyncio does since Python 3.12: a loop around it would not end otherwise."""

    async def main() -> None:
        ends: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waits = asyncio.ensure_future(waiting.wait_for(ends, 5.0))
        await asyncio.sleep(1.0)
        if isinstance(ended, Exception):
            ends.set_exception(ended)
        else:
            ends.set_result(ended)
        waits.cancel()
        assert (await outcome(waits))[0] is asyncio.CancelledError

    run(main())


@BOTH
def test_what_is_shielded_runs_on(module: ModuleType) -> None:
    async def main() -> None:
        inner = asyncio.ensure_future(value("inner", 2.0))
        waits = asyncio.ensure_future(outcome(module.shield(inner)))
        await asyncio.sleep(1.0)
        waits.cancel()
        assert (await waits)[0] is asyncio.CancelledError
        assert await module.shield(inner) == "inner"
        assert await module.shield(inner) == "inner"
        assert await outcome(module.shield(value(ValueError("x"), 1.0))) == (ValueError, "x")
        cancelled = asyncio.ensure_future(value(1, 5.0))
        asyncio.get_running_loop().call_later(1.0, cancelled.cancel)
        assert (await outcome(module.shield(cancelled)))[0] is asyncio.CancelledError

    run(main())


def test_all_are_called_in_order_also_after_errors_and_a_cancellation() -> None:
    called: list[int] = []

    def call(number: int, result: Any) -> Callable[[], Awaitable[Any]]:
        def begin() -> Awaitable[Any]:
            called.append(number)
            return value(result, 1.0)

        return begin

    async def main() -> Any:
        calls = [call(0, None), call(1, KeyError("first")), call(2, None), call(3, ValueError("last"))]
        task = asyncio.ensure_future(waiting.call_all(*calls))
        await asyncio.sleep(2.5)
        task.cancel()  # the third
        return await outcome(task)

    assert run(main()) == (ValueError, "last")
    assert called == [0, 1, 2, 3]


def steps(make: Callable[[asyncio.Future[Any]], Awaitable[Any]], is_done: bool) -> int:
    """Steps from the end of an input, or from the call if it had ended, to the return of the call."""

    async def main() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulationLoop)
        future = loop.create_future()
        if is_done:
            future.set_result(None)
        else:
            loop.call_later(1.0, future.set_result, None)
        before = loop.steps
        await make(future)
        return loop.steps - before

    return int(run(main()))


# Python 3.12 made gather and wait_for take fewer steps; these numbers hold on all versions.
@pytest.mark.parametrize(
    ("make", "if_done", "if_not"),
    [
        (waiting.gather, 2, 3),
        (lambda future: waiting.wait([future]), 2, 3),
        (lambda future: waiting.wait_for(future, 5.0), 2, 3),
        (waiting.shield, 0, 3),
    ],
    ids=["gather", "wait", "wait_for", "shield"],
)
def test_steps(make: Callable[[asyncio.Future[Any]], Awaitable[Any]], if_done: int, if_not: int) -> None:
    assert steps(make, is_done=True) == if_done
    assert steps(make, is_done=False) == if_not
