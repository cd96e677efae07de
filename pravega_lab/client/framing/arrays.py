"""Choose between `compiled` and `uncompiled` for each array that is framed or decoded.

Both give the same results. Without a cache on disk, compiling takes seconds. It happens in a thread, and
`uncompiled` serves until then.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
from collections.abc import Iterator
from types import ModuleType

from pravega_lab.client.framing.values import ArrayFraming


class _Compilation:
    """Loads or compiles the functions of `compiled`, one step after the other, in a thread.

    Neither a fork nor the end of the interpreter interrupts a step: both would leave locks of numba or LLVM
    held. They wait for the present step, a second at most.

    Numba iterates over the builtins, which IPython changes at the start and the end of each cell. An import
    or a step that this disturbed is done again.
    """

    TRIES, PAUSE_S = 20, 0.05

    def __init__(self) -> None:
        from pravega_lab.client.framing import uncompiled

        self.framing: ArrayFraming = uncompiled
        self.is_compiled = False
        self._step = threading.Lock()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="pravega-compile", daemon=True)

    def start(self) -> None:
        """Start compiling."""
        atexit.register(self.stop)
        release = self._step.release
        os.register_at_fork(before=self._step.acquire, after_in_parent=release, after_in_child=release)
        self._thread.start()

    def stop(self) -> None:
        """Compile no further function. Waits for the end of the present step."""
        self._is_stopped = True
        with self._step:
            pass

    def wait(self, timeout_s: float) -> None:
        """Wait until all functions are compiled, or cannot be."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            for tries_left in reversed(range(self.TRIES)):
                try:
                    compiled = self._load()
                    if self._take_steps(compiled.compile_steps()):
                        self.framing, self.is_compiled = compiled, True
                    return
                except RuntimeError as error:
                    if not tries_left or "changed size during iteration" not in str(error):
                        raise
                    time.sleep(self.PAUSE_S)
        except ImportError:
            pass  # numba is not installed, or not for this numpy
        except Exception as error:
            warnings.warn(
                f"events are framed by plain Python, because compiling failed: {error}", stacklevel=1
            )

    def _load(self) -> ModuleType:
        with self._step:
            from pravega_lab.client.framing import compiled
        return compiled

    def _take_steps(self, steps: Iterator[None]) -> bool:
        """Return whether all ``steps`` were taken."""
        while not self._is_stopped:
            with self._step:
                if next(steps, _END) is _END:
                    return True
        return False


_END = object()
_here: _Compilation | None = None
_starting = threading.Lock()


def array_framing() -> ArrayFraming:
    """Return the functions over arrays: compiled if they are ready, else plain numpy and Python.

    The first call starts compiling and returns at once. Ask again for each array.
    """
    return (_here or _compilation()).framing


def wait_until_compiled(timeout_s: float) -> ArrayFraming:
    """Return what `array_framing` returns once nothing is left to compile, or after ``timeout_s`` seconds."""
    _compilation().wait(timeout_s)
    return array_framing()


def _compilation() -> _Compilation:
    global _here
    with _starting:
        if _here is None:
            _here = _Compilation()
            _here.start()
        return _here


def _forget_parent() -> None:
    """Let a forked child, which does not inherit the thread, compile for itself."""
    global _here, _starting
    _starting = threading.Lock()
    if _here is not None and not _here.is_compiled:
        _here = None


os.register_at_fork(after_in_child=_forget_parent)
