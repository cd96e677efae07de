"""Compiling in the background: plain Python serves until it is done, and neither fork nor exit breaks in."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pravega_lab.client.framing import arrays, compiled, uncompiled

Compilation = arrays._Compilation
Steps = Callable[[], Iterator[None]]
Start = Callable[[Steps], Compilation]
WAIT_S = 60.0


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a compilation with other steps."""
    monkeypatch.setattr("os.register_at_fork", lambda **_: None)
    monkeypatch.setattr("atexit.register", lambda _: None)
    started: list[Compilation] = []

    def run(steps: Steps) -> Compilation:
        monkeypatch.setattr(compiled, "compile_steps", steps)
        started.append(Compilation())
        started[-1].start()
        return started[-1]

    yield run
    for one in started:
        one.stop()
        one.wait(WAIT_S)


def start_and_wait(start: Start, steps: Steps) -> Compilation:
    found = start(steps)
    found.wait(WAIT_S)
    return found


def test_plain_python_serves_until_everything_is_compiled(start: Start) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def steps() -> Iterator[None]:
        yield
        begun.set()
        assert go_on.wait(WAIT_S)
        yield

    found = start(steps)
    assert begun.wait(WAIT_S)
    assert found.framing is uncompiled
    go_on.set()
    found.wait(WAIT_S)
    assert found.framing is compiled
    assert found.is_compiled


def test_plain_python_serves_where_compiling_fails(start: Start) -> None:
    def steps() -> Iterator[None]:
        yield
        raise RuntimeError("no locator available")

    with pytest.warns(UserWarning, match="plain Python, because compiling failed: no locator"):
        found = start_and_wait(start, steps)
    assert found.framing is uncompiled


def test_a_step_that_a_cell_of_a_notebook_disturbed_is_done_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IPython changes the builtins at the start and end of each cell; numba iterates over them once."""
    names, tries = {"print": 0}, list[int]()

    def steps() -> Iterator[None]:
        tries.append(len(tries))
        for _ in dict.fromkeys(names) if len(tries) > 2 else names:
            names[f"display {len(names)}"] = 0
        yield

    monkeypatch.setattr(Compilation, "PAUSE_S", 0.0)
    found = start_and_wait(start, steps)
    assert (found.framing, tries) == (compiled, [0, 1, 2])


def test_it_stops_after_the_present_step(start: Start) -> None:
    begun, go_on, done = threading.Event(), threading.Event(), []

    def steps() -> Iterator[None]:
        begun.set()
        assert go_on.wait(WAIT_S)
        done.append(1)
        yield
        done.append(2)
        yield

    found = start(steps)
    assert begun.wait(WAIT_S)
    stopping = threading.Thread(target=found.stop)
    stopping.start()
    assert stopping.is_alive(), "a step is not interrupted"
    while not found._is_stopped:
        pass
    go_on.set()
    stopping.join(WAIT_S)
    found.wait(WAIT_S)
    assert done == [1]
    assert found.framing is uncompiled


def test_what_is_compiled_may_be_compiled_again() -> None:
    """A child that was forked before its parent had finished repeats all steps."""
    for _ in range(2):
        assert len(list(compiled.compile_steps())) == 11
        assert compiled.longest(np.array([0, 2, 5], np.int32)) == 3


PROGRAM = """
import os, sys, threading
import numpy as np
from pravega_lab.client.framing import arrays, uncompiled

offsets, data = np.array([0, 2, 5], np.int32), np.frombuffer(b"abcde", np.uint8)
assert arrays.array_framing() is uncompiled
positions = arrays.array_framing().positions_of(offsets, data).tolist()
child = os.fork()
if child == 0:
    assert [t.name for t in threading.enumerate()] == ["MainThread"]
    found = arrays.array_framing().positions_of(offsets, data).tolist()
    os._exit(0 if found == positions and os.fork() >= 0 else 1)
assert os.waitpid(child, 0)[1] == 0
print(positions)
"""


@pytest.mark.slow
def test_a_fork_and_an_exit_while_nothing_is_compiled_yet(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


CALLS = """
import sys
from pravega_lab.client.framing.arrays import wait_until_compiled
framing = wait_until_compiled(60)
assert framing.__name__.endswith(".compiled"), framing
known = set(sys.modules)
import numpy as np
for kind in (np.int32, np.int64):
    offsets = np.zeros(3, kind)
    for data in (np.zeros(16, np.uint8), np.frombuffer(bytes(16), np.uint8)):
        framing.longest(offsets)
        made = framing.frame_slice(offsets, data, framing.positions_of(offsets, data), np.ones(1), 64)
        made.fill(0, 2)
        framing.decode(made.runs()[0].frames)
print(sorted(set(sys.modules) - known))
"""


def test_what_is_compiled_imports_nothing_at_its_first_use() -> None:
    """Else the first block that is framed or decoded by it waits for the import."""
    command = [sys.executable, "-c", CALLS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True)
    assert done.stdout.strip() == "[]"


def test_an_import_that_ipython_disturbed_is_done_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, tried = Compilation._load, []

    def disturbed(self: Compilation) -> object:
        tried.append(self)
        if len(tried) < 3:
            raise RuntimeError("dictionary changed size during iteration")
        return load(self)

    monkeypatch.setattr(Compilation, "_load", disturbed)
    monkeypatch.setattr(Compilation, "PAUSE_S", 0.0)
    one = start(lambda: iter(()))
    one.wait(WAIT_S)
    assert one.is_compiled
    assert len(tried) == 3
