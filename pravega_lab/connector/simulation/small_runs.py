"""A table of the smallest runs that show the planted bugs: faults before and after, runs, seconds of CPU.

``python -m pravega_lab.connector.simulation.small_runs --jobs 2 --write`` searches for all of them, and
writes the table into docs/simulation.md of a checkout. ``--keep FILE`` writes a line of JSON per bug, and
skips bugs that are already in the file. If bugs are named, only their rows are searched, and the others stay.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pravega_lab.connector.simulation.explaining import shrunk
from pravega_lab.connector.simulation.families import (
    ALL_BUGS,
    FILES,
    checker_of,
    run_any,
    scenario_of_bug,
)
from pravega_lab.connector.simulation.processes import results_of
from pravega_lab.engine.simulation.kernel.run import Result
from pravega_lab.errors import BadInputError

Row = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
PAGE = "docs/simulation.md"
MARKS = "<!-- small runs -->\n", "<!-- end of small runs -->\n"
SEEDS_MAX = 100
FAULTS_MAX = 10
OTHERS = 8  # seeds that are considered if the run of the first one needs more faults than that
_KNOWN = re.compile(r"^\| `([\w.-]+)` \|.*\| (?:files, )?(\d+): ", re.MULTILINE)
NUMBERS = ("seed", "before", "after", "steps_before", "steps_after", "runs")
_ROW = re.compile(r"^\| `([\w.-]+)` ((?:\| [\d,]+ ){6})\| ([\d.]+) \|$", re.MULTILINE)
_NO_SEED = re.compile(r"^\| `([\w.-]+)` \|.*\| a (?:test of|job made for) [^|]*\|$", re.MULTILINE)


def known_seeds(page: str) -> dict[str, int]:
    """Return the seeds that the tables of the page name, by bug. That of the smallest run is preferred."""
    seeds = {bug: int(seed) for bug, seed in _KNOWN.findall(page)}
    return seeds | {row["bug"]: row["seed"] for row in rows_of(page)}


def rows_of(page: str) -> list[Row]:
    """Return the rows of the table that is in the page."""
    found = []
    for bug, numbers, cpu_s in _ROW.findall(page):
        values = [int(number.replace(",", "")) for number in numbers.split("|")[1:]]
        found.append({"bug": bug, **dict(zip(NUMBERS, values, strict=True)), "cpu_s": float(cpu_s)})
    return found


def without_seed(page: str) -> list[str]:
    """Return the bugs that no seed shows, by the tables of the page: a test shows them."""
    return _NO_SEED.findall(page)


def search(task: tuple[str, int | None, float]) -> Row | None:
    """Find a seed that shows a bug and shrink its run. Return None if no seed shows it.

    The task is the bug, a seed to try first, and how many seconds the search may take.
    """
    bug, known, seconds = task
    return smallest(bug, dict.fromkeys([*([] if known is None else [known]), *range(SEEDS_MAX)]), seconds)


def smallest(bug: str, seeds: Iterable[int], seconds: float) -> Row | None:
    """Shrink the run of the first of some seeds that shows a bug. Return None if none does.

    If that run still needs many faults, the runs of the next seeds that show the bug are shrunk, too,
    beginning with the one that draws the fewest faults. The smallest run is returned. Its ``runs`` and
    ``cpu_s`` are those of all of them.
    """
    failing = _failing(bug, seeds)
    first = next(failing, None)
    if first is None:
        return None
    best = _shrunk_row(first, bug, seconds)
    runs, cpu_s = best["runs"], best["cpu_s"]
    if best["after"] > FAULTS_MAX:
        others = islice(failing, OTHERS)
        for result in sorted(others, key=lambda result: (len(result.happened), result.steps)):
            row = _shrunk_row(result, bug, seconds)
            runs, cpu_s = runs + row["runs"], cpu_s + row["cpu_s"]
            best = min(best, row, key=lambda row: row["after"])
            if best["after"] <= FAULTS_MAX:
                break
    return best | {"runs": runs, "cpu_s": round(cpu_s, 1)}


def _failing(bug: str, seeds: Iterable[int]) -> Iterator[Result]:
    """Yield the runs of the seeds that show a bug."""
    scenario, checker = scenario_of_bug(bug), checker_of(bug)
    for seed in seeds:
        result = run_any(seed, scenario, bug).without_journal()
        if any(problem.startswith(checker) for problem in result.problems):
            yield result


def _shrunk_row(result: Result, bug: str, seconds: float) -> Row:
    began_s = time.process_time()
    scenario = scenario_of_bug(bug)
    shrinker = shrunk((result.seed, scenario, bug), 1, seconds)
    assert shrinker is not None
    return {
        "bug": bug,
        "scenario": scenario,
        "seed": result.seed,
        "before": len(shrinker.first.happened),
        "after": len(shrinker.faults),
        "steps_before": shrinker.first.steps,
        "steps_after": shrinker.best.steps,
        "runs": shrinker.runs,
        "plan": shrinker.best.plan.to_text(),
        "rule": shrinker.rule,
        "last_fault": max((one.step for one in shrinker.best.happened), default=0),
        "cpu_s": round(time.process_time() - began_s, 1),
    }


def rows(bugs: Sequence[str], jobs: int, seconds: float, keep: Path | None, page: str) -> Iterator[Row]:
    """Yield the row of each bug that a seed shows. Bugs in the file ``keep`` are not searched again."""
    lines = keep.read_text().splitlines() if keep and keep.exists() else []
    known = {row["bug"]: row for row in map(json.loads, lines)}
    yield from (row for bug, row in known.items() if bug in bugs)
    seeds, done = known_seeds(page), {*known, *without_seed(page)}
    tasks = [(bug, seeds.get(bug), seconds) for bug in bugs if bug not in done]
    for row in results_of(search, tasks, jobs, lambda task: scenario_of_bug(task[0]) == FILES):
        if row is not None:
            if keep:
                with keep.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            yield row


def table(found: Sequence[Row], bugs: Sequence[str], page: str) -> str:
    """Return the rows as Markdown, after sentences that sum them up and say which bugs have no row."""
    few = sum(row["after"] <= FAULTS_MAX for row in found)
    seconds = sorted(row["cpu_s"] for row in found)
    median_s, most_s = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.9)]
    said = (
        f"{len(found)} planted bugs: {few} need at most {FAULTS_MAX} faults. The search took {median_s} s of "
        f"CPU time in the median, and {most_s} s at the 90th percentile."
    )
    left = {*bugs} - {row["bug"] for row in found}
    tests = left & {*without_seed(page)}
    left -= tests
    if tests:
        said += f" {len(tests)} others are not in the table, because tests show them and no seed."
    if left:
        said += f" The search found no seed for {', '.join(f'`{bug}`' for bug in sorted(left))}."
    head = "| Bug | Seed | Faults before | after | Steps before | after | Runs | s |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    for row in sorted(found, key=lambda row: ALL_BUGS.index(row["bug"])):
        numbers = (f"{row[name]:,}" for name in NUMBERS)
        cells = [f"`{row['bug']}`", *numbers, str(row["cpu_s"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([said, "", *lines])


def write_between(page: Path, marks: tuple[str, str], text: str) -> None:
    """Write text into a page, between two marks.

    Raises:
        BadInputError: There is no such page, or it lacks the marks.
    """
    old = page.read_text(encoding="utf-8") if page.is_file() else ""
    before, begin, rest = old.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not end:
        raise BadInputError(f"{page} has no place for the table, between {marks[0]!r} and {marks[1]!r}")
    page.write_text(f"{before}{begin}{text}\n{end}{after}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, and print the table. Return 1 if a bug needs more than `FAULTS_MAX` faults."""
    parser = argparse.ArgumentParser(prog="small_runs", description=__doc__)
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="all of them, if none is named")
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each bug (%(default)s)")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write each row there, and go on from there"
    )
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    asked = parser.parse_args(arguments)
    page = ROOT / PAGE
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    bugs = asked.bugs or ALL_BUGS
    found = list(rows(bugs, asked.jobs, asked.seconds, asked.keep, text))
    if asked.bugs:  # the other rows stay
        bugs = ALL_BUGS
        found += [row for row in rows_of(text) if row["bug"] not in asked.bugs]
    print(table(found, bugs, text))
    if asked.write:
        write_between(page, MARKS, table(found, bugs, text))
    return 1 if any(row["after"] > FAULTS_MAX for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
