"""The buttons of a stepped job as `Act`s. Each one is a public call, and its text is that call.

They act on the run that the board shows. The past cannot be changed: on a past step only a fork is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from pravega_lab.widgets.live.controls import Act

if TYPE_CHECKING:
    from pravega_lab.engine.simulation.flow.steps import OnWay
    from pravega_lab.widgets.boards.run_board import RunBoard
    from pravega_lab.widgets.live.view import View

AS_IT_WAS = "as it was"
DELAY_MS = 50


class Stepped(Protocol):
    """What the buttons need of a `StepByStep`."""

    name: str
    story: str

    @property
    def views(self) -> list[View]: ...

    @property
    def position(self) -> int: ...

    @property
    def state(self) -> str: ...

    @property
    def is_over(self) -> bool: ...

    @property
    def tasks(self) -> list[str]: ...

    @property
    def channels(self) -> list[str]: ...

    @property
    def on_way(self) -> tuple[OnWay, ...]: ...

    def why_not(self) -> str: ...

    def step(self, n: int) -> list[str]: ...

    def back(self, n: int) -> list[str]: ...

    def until(self, what: str) -> list[str]: ...

    def fail(self, task: str) -> str: ...

    def kill(self, task: str) -> str: ...

    def drop(self, lane: str, what: str = "") -> str: ...

    def delay(self, lane: str, by_ms: int) -> str: ...

    def checkpoint(self) -> str: ...

    def fork(self) -> Self: ...


def acts(board: RunBoard) -> list[Act]:
    """Return the buttons of a board, from top to bottom."""

    def run() -> Stepped:
        return cast("Stepped", board.run)

    def call(name: str) -> Callable[[str, float], str]:
        return lambda target, value: (
            f"{run().name}.{name}({target!r})" if target else f"{run().name}.{name}()"
        )

    def counted(name: str) -> Callable[[str, float], str]:
        return lambda target, value: f"{run().name}.{name}({value:.0f})"

    def no(target: str) -> str:
        return run().why_not()

    def over(target: str) -> str:
        return f"the job is {run().state}" if run().is_over else ""

    def first(target: str) -> str:
        return "" if run().position else "this is the beginning"

    return [
        Act("step", counted("step"), lambda t, v: "; ".join(run().step(int(v))[-3:]), over, value=1,
            unit="steps"),
        Act("back", counted("back"), lambda t, v: run().back(int(v))[0], first, value=1, unit="steps"),
        Act("to the next checkpoint", lambda t, v: f'{run().name}.until("checkpoint")',
            lambda t, v: "; ".join(run().until("checkpoint")[-1:]), over),
        Act("fail this task", call("fail"), lambda t, v: run().fail(t), no, lambda: run().tasks, _task_of),
        Act("kill its process", call("kill"), lambda t, v: run().kill(t), no, lambda: run().tasks, _task_of),
        Act("drop the next message", lambda t, v: f"{run().name}.drop({_listed(t.split(' · '))})",
            lambda t, v: run().drop(*t.split(" · ")), no, lambda: _droppable(run()), _message_of),
        Act("delay this channel", lambda t, v: f"{run().name}.delay({t!r}, {v:.0f})",
            lambda t, v: run().delay(t, int(v)), no, lambda: run().channels, lambda mark: mark.get("lane"),
            DELAY_MS, "ms"),
        Act("take a checkpoint", call("checkpoint"), lambda t, v: run().checkpoint(), no),
        Act("fork here", lambda t, v: _fork_call(run(), t, v), lambda t, v: _forked(board, run(), t, v),
            targets=lambda: _faults(run()), of_pin=_fault_of, value=DELAY_MS, unit="ms, of a delay"),
    ]  # fmt: skip


# A fork, and the fault that it begins with.


def _faults(run: Stepped) -> list[str]:
    """Return the faults that a fork from here may begin with: ``drop map[0]>count[1]:0 · barrier``."""
    tasks = run.tasks
    drops = [f"drop {way}" for way in _droppable(run)]
    delays = [f"delay {lane}" for lane in run.channels]
    return [AS_IT_WAS, *drops, *delays, *(f"fail {t}" for t in tasks), *(f"kill {t}" for t in tasks)]


def _fault_of(mark: dict[str, Any]) -> str | None:
    match mark.get("kind"):
        case "task":
            return f"fail {mark.get('id')}"
        case "mark":
            return f"drop {_message_of(mark)}"
        case "channel":
            return f"delay {mark['lane']}"
    return None


def _args(fault: str, value: float) -> tuple[str, list[Any]]:
    """Return the method of a run that causes a fault, and its arguments."""
    name, _, what = fault.partition(" ")
    if name == "drop":
        return name, what.split(" · ")
    return name, [what, int(value)] if name == "delay" else [what]


def _fork_call(run: Stepped, fault: str, value: float) -> str:
    if fault in ("", AS_IT_WAS):
        return f"fork = {run.name}.fork()"
    name, args = _args(fault, value)
    return f"fork = {run.name}.fork(); fork.{name}({_listed(args)})"


def _forked(board: RunBoard, run: Stepped, fault: str, value: float) -> str:
    fork = run.fork()
    if fault not in ("", AS_IT_WAS):
        name, args = _args(fault, value)
        getattr(fork, name)(*args)
    board.go(fork)
    return fork.story


def _listed(args: Sequence[Any]) -> str:
    return ", ".join(map(repr, args))


def _droppable(run: Stepped) -> list[str]:
    """Return what can be dropped, the next of each sort in each channel: ``map[0]>count[1]:0 · barrier``."""
    return list(dict.fromkeys(f"{m.lane} · {m.sort}" for m in run.on_way if m.is_element))


def _task_of(mark: dict[str, Any]) -> str | None:
    return mark.get("id") if mark.get("kind") == "task" else None


def _message_of(mark: dict[str, Any]) -> str | None:
    return f"{mark['lane']} · {mark['what']}" if mark.get("kind") == "mark" else None
