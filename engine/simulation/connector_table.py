"""One table of all forms of reading, over many seeds: what each loses, doubles and costs.

``python -m pravega_lab.engine.simulation.connector_table 0..499`` runs every form with the same seeds, so
each meets the same stream, scales and failures (until its own actions move the order of steps), and prints a
table for a page. ``--keep FILE`` writes a line of JSON per run, and skips those that are there already.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from pravega_lab.engine.simulation.command import parse_seeds
from pravega_lab.engine.simulation.connector_forms import FORMS
from pravega_lab.engine.simulation.connector_scenario import run_connector

Run = dict[str, Any]
HEAD = (
    "",
    "runs",
    "lost",
    "in runs",
    "doubled",
    "in runs",
    "out of order",
    "in runs",
    "recovery, ms (median, 95 %)",
    "bytes of position",
    "state log entries",
    "coupling to the group",
)
COUPLING = {
    "a": "checkpoints by the master hook, reset at each restore",
    "b1": "readers taken offline and recreated at a position",
    "b2": "checkpoints by the enumerator, reset at each restore",
    "b3": "checkpoints by the enumerator, reset at each restore",
    "c": "none",
    "d": "none",
}


def run_one(task: tuple[str, int]) -> Run:
    """One form and seed, as plain values."""
    letter, seed = task
    result, measures = run_connector(seed, letter)
    broken = [p for p in result.problems if not p.startswith(("exactly once", "in order"))]
    return {"seed": seed, "steps": result.steps, "broken": broken, **asdict(measures)}


def runs(letters: Sequence[str], seeds: Iterable[int], jobs: int, keep: Path | None) -> Iterator[Run]:
    """Every form with every seed; those that were kept before are not run again."""
    known = [json.loads(line) for line in keep.read_text().splitlines()] if keep and keep.exists() else []
    seeds = list(seeds)
    wanted = {(letter, seed) for letter in letters for seed in seeds}
    found = {(run["form"], run["seed"]): run for run in known}
    yield from (run for key, run in found.items() if key in wanted)
    missing = [(letter, seed) for seed in seeds for letter in letters if (letter, seed) not in found]
    for run in _run_all(missing, jobs):
        if keep:
            with keep.open("a") as lines:
                lines.write(json.dumps(run) + "\n")
        yield run


def _run_all(tasks: Sequence[tuple[str, int]], jobs: int) -> Iterator[Run]:
    if jobs == 1:
        yield from map(run_one, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(run_one, tasks, chunksize=4)


def table(found: Sequence[Run]) -> str:
    """Markdown: a row per form."""
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    for form in FORMS.values():
        of_form = [run for run in found if run["form"] == form.letter]
        if of_form:
            lines.append("| " + " | ".join(_row(form.letter, form.about, of_form)) + " |")
    return "\n".join(lines)


def _row(letter: str, about: str, found: Sequence[Run]) -> list[str]:
    recovery = sorted(ms for run in found for ms in run["recovery_ms"])
    late = recovery[int(len(recovery) * 0.95)] if recovery else 0
    cells = [f"({letter}) {about}", str(len(found))]
    for what in ("lost", "doubled", "out_of_order"):
        cells += [str(sum(run[what] for run in found)), str(sum(1 for run in found if run[what]))]
    cells.append(f"{median(recovery) if recovery else 0:.0f}, {late}")
    middle: Callable[[str], str] = lambda what: f"{median(run[what] for run in found):.0f}"  # noqa: E731
    return [*cells, middle("position_bytes"), middle("group_updates"), COUPLING[letter]]


def summary(found: Sequence[Run]) -> str:
    """What the runs were, and the first event out of order of the form without order."""
    failures, scales = sum(run["failures"] for run in found), sum(run["scales"] for run in found)
    rows, steps = sum(run["rows"] for run in found), sum(run["steps"] for run in found)
    broken = [f"seed {run['seed']} ({run['form']}): {run['broken'][0]}" for run in found if run["broken"]]
    lines = [f"{len(found)} runs: {rows} rows, {failures} failures, {scales} scales, {steps} steps."]
    firsts = [run for run in found if run["form"] == "d" and run["first_out_of_order"]]
    if firsts:
        first = min(firsts, key=lambda run: run["seed"])
        lines.append(f"(d), seed {first['seed']}: {first['first_out_of_order']}.")
    return "\n".join([*lines, *broken])


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every run came to its end, and what promises exactly once kept it."""
    parser = argparse.ArgumentParser(prog="connector_table", description=__doc__)
    parser.add_argument("seeds", help="A..B, both included")
    parser.add_argument("--forms", default=",".join(FORMS), help="letters, with commas (%(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write each run there, and go on from there"
    )
    asked = parser.parse_args(arguments)
    found = list(runs(asked.forms.split(","), parse_seeds(asked.seeds), asked.jobs, asked.keep))
    print(summary(found), table(found), sep="\n\n")
    failed = [
        run for run in found if run["broken"] or (FORMS[run["form"]].is_exactly_once and _is_wrong(run))
    ]
    return 1 if failed else 0


def _is_wrong(run: Run) -> bool:
    return bool(run["lost"] or run["doubled"])


if __name__ == "__main__":
    sys.exit(main())
