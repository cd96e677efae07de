"""The cases under `java/cases`: programs of the official Java client, and what they say.

`java/answers.txt` has what they said on a real Pravega 0.13.0. ``python -m tests.conformance.java_cases
tcp://HOST:PORT`` prints it anew for the Pravega there: commit a difference only if you understand it.
"""

from __future__ import annotations

import re
import sys

from tests.conformance.java_programs import SOURCES, JavaProgram

ANSWERS = SOURCES / "answers.txt"
_HEAD = "### "
_CASE = re.compile(r"^    static void (\w+)\(Case c\)", re.MULTILINE)


def case_names() -> list[str]:
    """``Class.method`` of every case, in the order of the sources."""
    files = sorted((SOURCES / "cases").glob("*.java"))
    return [f"{file.stem}.{method}" for file in files for method in _CASE.findall(file.read_text())]


def answers() -> dict[str, list[str]]:
    """The recorded lines of each case."""
    found: dict[str, list[str]] = {}
    for line in ANSWERS.read_text().splitlines():
        if line.startswith(_HEAD):
            found[line.removeprefix(_HEAD)] = []
        else:
            found[list(found)[-1]].append(line)
    return found


class JavaCases(JavaProgram):
    """One running client that is given cases, one after the other."""

    def __init__(self, uri: str) -> None:
        super().__init__("cases.Cases", uri)

    def run(self, case: str, scope: str) -> list[str]:
        """What a case says in an empty scope."""
        self.tell(f"{case} {scope}")
        lines = []
        while (line := self.next_line()) != ".":
            lines.append(line)
        return lines


def main() -> None:
    with JavaCases(sys.argv[1]) as java:
        for number, case in enumerate(case_names()):
            print(_HEAD + case)
            print("".join(f"{line}\n" for line in java.run(case, f"record-{number}")), end="", flush=True)


if __name__ == "__main__":
    main()
