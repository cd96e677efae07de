"""``make campaign SEEDS=0..99``: many seeds of every scenario on all cores, and a table of what they were.

``python -m pravega_lab.connector.simulation.campaign 0..99 --write`` runs the seeds of each scenario. A
seed that fails is shrunk, and its page and its command are kept in a folder. The table goes into
docs/simulation.md of a checkout. With ``--log FILE`` every run is written into a file as it ends, and a
stopped campaign resumes where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pravega_lab.connector.simulation.explaining import shrunk, story, turning_point
from pravega_lab.connector.simulation.families import SCENARIOS, run_any
from pravega_lab.connector.simulation.processes import workers
from pravega_lab.connector.simulation.seeds import parse_seeds
from pravega_lab.connector.simulation.small_runs import PAGE, ROOT, write_between
from pravega_lab.engine.simulation.explain.page import as_page
from pravega_lab.engine.simulation.kernel.run import Result
from pravega_lab.errors import BadInputError

MARKS = "<!-- campaign -->\n", "<!-- end of campaign -->\n"
SHRINK_S = 60.0
HEAD = "| Scenario | Seeds | Steps | Virtual hours | per hour of CPU | Messages | Faults | Failures |"


@dataclass
class Tally:
    """The sums over the seeds of one scenario."""

    seeds: int = 0
    steps: int = 0
    virtual_s: float = 0.0
    cpu_s: float = 0.0
    messages: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    failures: int = 0

    def add(self, other: Tally) -> None:
        """Count the runs of another tally."""
        self.seeds += other.seeds
        self.steps += other.steps
        self.virtual_s += other.virtual_s
        self.cpu_s += other.cpu_s
        self.messages += other.messages
        self.faults.update(other.faults)
        self.failures += other.failures

    def row(self, name: str) -> str:
        """Return the sums as a row of the table."""
        hours, speed = self.virtual_s / 3600, self.virtual_s / max(self.cpu_s, 1e-9)
        cells = [name, f"{self.seeds:,}", f"{self.steps:,}", f"{hours:,.2f}", f"{speed:,.0f}"]
        cells += [f"{self.messages:,}", f"{self.faults.total():,}", f"{self.failures:,}"]
        return "| " + " | ".join(cells) + " |"


def total(tallies: Sequence[Tally]) -> Tally:
    """Return the sums over all scenarios."""
    found = Tally()
    for one in tallies:
        found.add(one)
    return found


def tally_of(result: Result) -> Tally:
    """Return one run as a tally."""
    return Tally(
        1,
        result.steps,
        result.virtual_s,
        result.cpu_s,
        result.traffic.messages,
        Counter(one.fault.kind for one in result.happened),
        int(bool(result.problems)),
    )


class Log:
    """A file with a line of JSON for each run that has ended: its scenario, its seed and its tally."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> dict[tuple[str, int], Tally]:
        """Return the runs in the file. A last line that a kill cut short is cut off."""
        if self._path is None or not self._path.exists():
            return {}
        text = self._path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self._path.write_text(whole, encoding="utf-8")
        runs = {}
        for line in whole.splitlines():
            scenario, seed, steps, virtual_s, cpu_s, messages, faults, failures = json.loads(line)
            runs[scenario, seed] = Tally(1, steps, virtual_s, cpu_s, messages, Counter(faults), failures)
        return runs

    def write(self, scenario: str, seed: int, one: Tally) -> None:
        """Add a run."""
        if self._path is not None:
            sums = one.steps, round(one.virtual_s, 6), round(one.cpu_s, 6), one.messages
            line = json.dumps([scenario, seed, *sums, dict(one.faults), one.failures])
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


def table(tallies: dict[str, Tally], seeds: range, limits: Mapping[str, int]) -> str:
    """Return the campaign as Markdown: sentences, the table, and the kinds of faults."""
    everything = total(list(tallies.values()))
    said = (
        f"Seeds {seeds[0]} to {seeds[-1]} of each scenario: {everything.seeds:,} runs, "
        f"{everything.failures:,} of them with a violation."
    )
    for limit in sorted({*limits.values()}):
        names = ", ".join(f"`{name}`" for name in limits if limits[name] == limit)
        said += f" Of {names}, the first {limit:,}."
    lines = [f"`{name}`" for name in tallies]
    lines = [tally.row(name) for name, tally in zip(lines, tallies.values(), strict=True)]
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in everything.faults.most_common(12))
    parts = [said, "\n".join([HEAD, "|" + "---|" * 8, *lines, everything.row("all")])]
    return "\n\n".join([*parts, f"The most frequent faults: {kinds}."])


def _run(task: tuple[str, int]) -> Result:
    scenario, seed = task
    return run_any(seed, scenario, None).without_journal()


def parse_limits(text: str) -> dict[str, int]:
    """Return the number of seeds of each scenario in ``flow=100,groups=50``.

    Raises:
        BadInputError: A part has another form, or names no scenario.
    """
    found = {}
    for part in text.split(",") if text else ():
        name, _, number = part.partition("=")
        if name not in SCENARIOS or not number.isdecimal():
            raise BadInputError(
                f"--at-most {part!r}: write SCENARIO=NUMBER, with a scenario of {', '.join(SCENARIOS)}"
            )
        found[name] = int(number)
    return found


def keep(result: Result, folder: Path) -> None:
    """Shrink a failed run, and write its story into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    case = result.seed, result.scenario, result.bug
    shrinker = shrunk(case, 1, SHRINK_S)
    name = folder / f"{result.scenario}-{result.seed}"
    lines = [result.command, *result.problems]
    if shrinker is not None:
        told, turning = story(shrinker, case), turning_point(shrinker, case, 1, SHRINK_S)
        lines.insert(1, told.result.command)
        name.with_suffix(".html").write_text(
            as_page(shrinker.first, told, shrinker.runs, turning), encoding="utf-8"
        )
    name.with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign and print its table. Return 1 if a seed violated a rule."""
    from tqdm import tqdm

    parser = argparse.ArgumentParser(prog="campaign", description=__doc__)
    parser.add_argument("seeds", help="A..B, both included, of each scenario")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help="with commas (%(default)s)")
    parser.add_argument("--at-most", default="", help="fewer seeds of some: flow=100,groups=50")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)")
    parser.add_argument("--failures", type=Path, default=Path("build/campaign"), help="folder (%(default)s)")
    parser.add_argument("--log", type=Path, help="keep each run in this file, and leave out those it has")
    parser.add_argument("--arrays", action="store_true", help="use numpy and pyarrow, as programs do")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    asked = parser.parse_args(arguments)
    seeds, names = parse_seeds(asked.seeds), asked.scenarios.split(",")
    limits = parse_limits(asked.at_most)
    tallies = {name: Tally() for name in names}
    log = Log(asked.log)
    # A run that failed is run again: its result is needed to explain it.
    before = {case: one for case, one in log.read().items() if not one.failures}
    tasks = [(name, seed) for n, seed in enumerate(seeds) for name in names if n < limits.get(name, n + 1)]
    for case in tasks:
        if case in before:
            tallies[case[0]].add(before[case])
    tasks = [case for case in tasks if case not in before]
    failed: list[Result] = []
    with workers(asked.jobs, arrays=asked.arrays) as pool:
        runs = pool.imap_unordered(_run, tasks, chunksize=2)
        for result in tqdm(runs, total=len(tasks), unit="run", file=sys.stderr, disable=None):
            one = tally_of(result)
            tallies[result.scenario].add(one)
            log.write(result.scenario, result.seed, one)
            if result.problems:
                failed.append(result)
                print(f"FAILED {result.summary()}\n  repeat: {result.command}", flush=True)
    for result in failed:
        keep(result, asked.failures)
    text = table(tallies, seeds, limits)
    print(text)
    if failed:
        print(f"{len(failed)} failures are explained in {asked.failures}")
    if asked.write:
        write_between(ROOT / PAGE, MARKS, text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
