"""The cases under `cases`: programs of the official Java client, and what they say.

`answers.txt` has what they said on a real Pravega 0.13.0. ``python -m tests.conformance.java.answers
tcp://HOST:PORT`` prints it anew for the Pravega there: commit a difference only if you understand it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Self

from tests.conformance.java.programs import SOURCES, JavaProgram
from tests.conformance.recorded import print_case, recorded

ANSWERS = SOURCES / "answers.txt"
CASE_S_MAX = 90.0  # the longest takes some seconds
_CASE = re.compile(r"^    static void (\w+)\(Case c\)", re.MULTILINE)


def case_names() -> list[str]:
    """``Class.method`` of every case, in the order of the sources."""
    files = sorted((SOURCES / "cases").glob("*.java"))
    return [f"{file.stem}.{method}" for file in files for method in _CASE.findall(file.read_text())]


def answers() -> dict[str, list[str]]:
    """The recorded lines of each case."""
    return recorded(ANSWERS)


class JavaCases:
    """A running client that is given cases, one after the other; a new one after one that ended or hung.

    ``tries``: of a case. The released server leaves a client without an answer now and then. ``ca_file`` is
    for tls://, and credentials are in the environment.
    """

    def __init__(self, uri: str, *, tries: int = 1, ca_file: str | None = None) -> None:
        self._arguments = (uri,) if ca_file is None else (uri, ca_file)
        self._tries = tries
        self._program = self._start()

    def _start(self) -> JavaProgram:
        return JavaProgram("cases.Cases", *self._arguments)

    def run(self, case: str, scope_name: Callable[[], str]) -> list[str]:
        """What a case says in an empty scope."""
        for left in reversed(range(self._tries)):
            try:
                return self._run(case, scope_name())
            except AssertionError:
                self._program.kill()
                self._program = self._start()
                if not left:
                    raise
        raise ValueError(f"tries={self._tries}: at least 1")

    def _run(self, case: str, scope: str) -> list[str]:
        self._program.tell(f"{case} {scope}")
        lines = []
        with self._program.within(CASE_S_MAX):
            while (line := self._program.next_line()) != ".":
                lines.append(line)
        return lines

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.kill()


def main() -> None:
    with JavaCases(sys.argv[1]) as java:
        for number, case in enumerate(case_names()):
            print_case(case, java.run(case, lambda number=number: f"record-{number}"))  # type: ignore[misc]


if __name__ == "__main__":
    main()
