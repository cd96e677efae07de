"""A table of all forms of reading, over many seeds: what each loses, doubles and costs.

``python -m pravega_lab.connector.simulation.table 0..499`` runs every form with the same seeds and prints the
table for a page. With one seed, each form meets the same stream, scales and failures, until its own actions
change the order of steps. ``--keep FILE`` writes a line of JSON per run, and skips runs that are already in
the file. ``--write`` writes the figures to the page and the tutorial of a checkout.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Any

from pravega_lab.connector.simulation.forms import FORMS
from pravega_lab.connector.simulation.scenario import run_connector
from pravega_lab.connector.simulation.seeds import parse_seeds
from pravega_lab.engine.simulation.kernel.traffic import RULE, Size
from pravega_lab.errors import BadInputError

Run = dict[str, Any]
ROWS = 240  # rows of one run; six forms times several hundred seeds must finish in an hour
SIZE = Size(failures=RULE.failures, scales=RULE.scales)
ROOT = Path(__file__).resolve().parents[3]
SUMMARY = "pravega_lab/tutorials/recording/recorded/flip-27-table.json"
PAGE = "docs/connector-flow.md"
MARKS = "<!-- table -->\n", "<!-- end of table -->\n"
WHATS = ("lost", "doubled", "out_of_order")
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
    """Run one form with one seed, and return the measurements as plain values."""
    letter, seed = task
    result, measures = run_connector(seed, letter, ROWS, SIZE, seals=False)
    broken = [p for p in result.problems if not p.startswith(("exactly once", "in order"))]
    return {"seed": seed, "steps": result.steps, "broken": broken, **asdict(measures)}


def runs(letters: Sequence[str], seeds: Iterable[int], jobs: int, keep: Path | None) -> Iterator[Run]:
    """Yield the measurements of every form with every seed. Runs in the file ``keep`` are not repeated."""
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


# -- what they showed ----------------------------------------------------------------------------------------


def summary(found: Sequence[Run]) -> dict[str, Any]:
    """Return all figures of the table as JSON values. docs/connector-flow.md explains them."""
    total = {
        what: sum(run[what] for run in found) for what in ("rows", "messages", "steps", "failures", "scales")
    }
    firsts = [run for run in found if run["form"] == "d" and run["first_out_of_order"]]
    first = min(firsts, key=lambda run: run["seed"], default=None)
    by_form = {letter: [run for run in found if run["form"] == letter] for letter in FORMS}
    return {
        "seeds": len({run["seed"] for run in found}),
        "rows_per_run": ROWS,
        "total": {"runs": len(found), **total},
        "forms": {letter: _figures(letter, of_form) for letter, of_form in by_form.items() if of_form},
        "first_out_of_order": first and {"seed": first["seed"], "what": first["first_out_of_order"]},
    }


def _figures(letter: str, found: Sequence[Run]) -> Run:
    recovery = sorted(ms for run in found for ms in run["recovery_ms"])
    figures: Run = {"about": FORMS[letter].about, "runs": len(found)}
    for what in WHATS:
        figures[what] = sum(run[what] for run in found)
        figures[f"runs_{what}"] = sum(1 for run in found if run[what])
    return figures | {
        "recovery_ms_median": round(median(recovery)) if recovery else None,
        "recovery_ms_95": recovery[int(len(recovery) * 0.95)] if recovery else None,
        "position_bytes": round(median(run["position_bytes"] for run in found)),
        "group_updates": round(median(run["group_updates"] for run in found)),
        "coupling": COUPLING[letter],
    }


def table(figures: dict[str, Any]) -> str:
    """Return the figures of `summary` as a Markdown table with a row per form."""
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    for letter, form in figures["forms"].items():
        cells = [f"({letter}) {form['about']}", form["runs"]]
        cells += [form[name] for what in WHATS for name in (what, f"runs_{what}")]
        cells.append(f"{form['recovery_ms_median']}, {form['recovery_ms_95']}")
        cells += [form["position_bytes"], form["group_updates"], form["coupling"]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def words(figures: dict[str, Any]) -> str:
    """Return a sentence about the size of the runs."""
    total = figures["total"]
    said = (
        f"{figures['seeds']} seeds, each form with each: {total['rows']:,} rows, {total['messages']:,} "
        f"messages, {total['failures']:,} failures of the job (kills of the store not counted), "
        f"{total['scales']:,} scales of the stream."
    )
    return fill(said, 120)


def page_part(figures: dict[str, Any]) -> str:
    """Return the text between the marks of the page."""
    first = figures["first_out_of_order"]
    parts = [words(figures), table(figures)]
    if first:
        parts.append(f"The first event out of order of (d): seed {first['seed']}, {first['what']}.")
    return "\n\n".join(parts)


def write(figures: dict[str, Any], root: Path = ROOT) -> None:
    """Write the figures into the files of a checkout.

    Raises:
        BadInputError: There is no such page in ``root``, or it lacks the marks.
    """
    page = root / PAGE
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    before, begin, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not end:
        raise BadInputError(
            f"{page} has no place for the table: it stands between {MARKS[0]!r} and {MARKS[1]!r}"
        )
    page.write_text(f"{before}{begin}{page_part(figures)}\n{end}{after}", encoding="utf-8")
    (root / SUMMARY).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the forms and print the table. Return 0 if every run ended and every form kept its promises."""
    parser = argparse.ArgumentParser(prog="connector_table", description=__doc__)
    parser.add_argument("seeds", help="A..B, both included")
    parser.add_argument("--forms", default=",".join(FORMS), help="letters, with commas (%(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write each run there, and go on from there"
    )
    parser.add_argument("--write", action="store_true", help=f"put the figures into {PAGE} and {SUMMARY}")
    asked = parser.parse_args(arguments)
    found = list(runs(asked.forms.split(","), parse_seeds(asked.seeds), asked.jobs, asked.keep))
    figures = summary(found)
    broken = [f"seed {run['seed']} ({run['form']}): {run['broken'][0]}" for run in found if run["broken"]]
    print("\n\n".join([page_part(figures), *broken]))
    if asked.write:
        write(figures)
    return 1 if broken or any(_breaks_its_promise(run) for run in found) else 0


def _breaks_its_promise(run: Run) -> bool:
    form = FORMS[run["form"]]
    is_inexact = form.is_exactly_once and (run["lost"] or run["doubled"])
    return bool(is_inexact or (form.is_in_order and run["out_of_order"]))


if __name__ == "__main__":
    sys.exit(main())
