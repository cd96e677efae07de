"""Another program next to a notebook: a process; in a browser, where there are none, a task in the page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

from pravega_lab.portable.alone import IS_BROWSER
from pravega_lab.portable.threads import Thread


class OtherProgram(Protocol):
    """Describes a program that runs."""

    def output(self, timeout_s: float) -> str:
        """Wait for its end, and return what it printed.

        Raises:
            TimeoutError: It has not ended within ``timeout_s`` seconds.
        """
        ...


def another_program(script: Path, *arguments: str) -> OtherProgram:
    """Start a Python script, which finds the arguments in ``sys.argv``."""
    return _Task(script, arguments) if IS_BROWSER else _Process(script, arguments)


class _Process:
    def __init__(self, script: Path, arguments: tuple[str, ...]) -> None:
        command = [sys.executable, str(script), *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def output(self, timeout_s: float) -> str:
        try:
            return self._process.communicate(timeout=timeout_s)[0]
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"the other program has not ended after {timeout_s:g} s") from error


class _Task:
    def __init__(self, script: Path, arguments: tuple[str, ...]) -> None:
        self._code = compile(script.read_text(), str(script), "exec")
        self._argv = [str(script), *arguments]
        self._printed: list[str] = []
        self._thread = Thread(target=self._run, name=script.stem)
        self._thread.start()

    def _run(self) -> None:
        before, sys.argv = sys.argv, self._argv  # until it waits for the first time, no other program runs
        try:
            exec(self._code, {"__name__": "__main__", "print": self._print})
        finally:
            sys.argv = before

    def _print(self, *words: Any, **_: Any) -> None:
        self._printed.append(" ".join(map(str, words)) + "\n")

    def output(self, timeout_s: float) -> str:
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            raise TimeoutError(f"the other program has not ended after {timeout_s:g} s")
        return "".join(self._printed)
