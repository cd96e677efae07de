"""What both engines say to the scripts.

`answers.txt` has what a real Flink 2.2.1 said. ``python -m tests.conformance.flink.answers`` prints it anew:
commit a difference only if you understand it. With names of cases: only these.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.conformance.flink import cases, event_time, failing_stops, operator_state  # noqa: F401, fill CASES
from tests.conformance.flink.catalogue import CASES
from tests.conformance.flink.flink import FlinkLab
from tests.conformance.flink.world import Lab
from tests.conformance.recorded import print_case, recorded

ANSWERS = Path(__file__).with_name("answers.txt")


async def answer(name: str, lab: Lab) -> list[str]:
    """What a case says on an engine."""
    await lab.new_case()
    return await CASES[name](lab)


async def flink_answers(names: Iterable[str] = CASES) -> dict[str, list[str]]:
    """What a real Flink says, case by case, in one JVM."""
    with tempfile.TemporaryDirectory(prefix="pravega-lab-flink-") as folder:
        async with FlinkLab(Path(folder)) as lab:
            return {name: await answer(name, lab) for name in names}


def recorded_answers() -> dict[str, list[str]]:
    return recorded(ANSWERS)


def main() -> None:
    for name, lines in asyncio.run(flink_answers(sys.argv[1:] or CASES)).items():
        print_case(name, lines)


if __name__ == "__main__":
    main()
