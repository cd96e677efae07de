"""A table of moments: which step decides the smallest run of a planted bug, and its turning point.

Something that happened may decide a run: a fault, the wrong code, or a line of the journal. The moment of a
bug is *known* if most futures fail that begin right after such a step, and many fewer of those that begin
five steps before it (`engine.simulation.explain.mark`). The *turning point* is the step at which the share of
failing futures rises most. Its search has other futures, and knows neither faults, bug nor journal
(`engine.simulation.explain.turning`).

``python -m pravega_lab.connector.simulation.turning_points --runs RUNS --keep FILE --write`` takes the
smallest runs from the rows that ``small_runs --keep RUNS`` wrote, and writes the table into
docs/simulation.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pravega_lab.connector.simulation.explaining import mark_of, turning_point
from pravega_lab.connector.simulation.families import ALL_BUGS, FILES, run_any
from pravega_lab.connector.simulation.processes import results_of
from pravega_lab.connector.simulation.small_runs import PAGE, ROOT, SEEDS_MAX, Row, smallest, write_between
from pravega_lab.engine.simulation.explain.shrink import Shrinker
from pravega_lab.engine.simulation.explain.words import process_of
from pravega_lab.engine.simulation.kernel.faults import plan_of
from pravega_lab.engine.simulation.kernel.run import Result

MARKS = "<!-- moments -->\n", "<!-- end of moments -->\n"
NEAR = 5
NEAR_SHARE = 0.95
MARKS_MIN = 40
STEPS_MAX = 5_000


def measure(task: tuple[Row, float, int]) -> Row:
    """Return the row of a bug with the step that decides its smallest run, and its turning point.

    If no step does, and the run was not likely to fail from the start, the smallest runs of other seeds are
    tried. The task is the row, how many seconds each search may take, and how many other seeds.
    """
    row, seconds, others = task
    first = found = _measured(row, seconds)
    while found["moment"] is None and not found["likely"] and others > 0:
        begin, others = found["seed"] + 1, others - 1
        other = smallest(row["bug"], range(begin, begin + SEEDS_MAX), seconds)
        if other is None:
            break
        found = _measured(other, seconds)
    return first if found["moment"] is None else found


def _measured(row: Row, seconds: float) -> Row:
    case = row["seed"], row["scenario"], row["bug"]
    result = run_any(*case, plan_of(row["plan"]))
    mark = mark_of(result, row["rule"], case, seconds)
    shares = [[share.step, share.failed, share.futures] for share in mark.shares.values()]
    row = row | {"moment": mark.step, "likely": mark.was_likely, "shares": shares}
    if mark.step is None:
        return row
    ends = [mark.shares[step] for step in (mark.before(mark.step), mark.step)]
    turning = turning_point(Shrinker(result.without_journal(), row["rule"]), case, 1, seconds)
    return row | {
        "what": what_happens(result, mark.step),
        "fail": [f"{share.failed} of {share.futures}" for share in ends],
        "turning": turning.step,
        "curve": [[share.step, share.failed, share.futures] for share in turning.curve],
    }


def what_happens(result: Result, step: int) -> str:
    """Return what happens at a step: a fault, a line of the journal, or else that the wrong code acts."""
    faults = [one.fault.kind for one in result.happened if one.step == step]
    steps = zip(result.journal.entries, result.journal_steps, strict=True)
    said = [f"{process_of(entry.who)}: {entry.what}" for entry, at in steps if at == step]
    return ", ".join(dict.fromkeys(faults or said)) or "the wrong code acts"


def is_near(row: Row) -> bool:
    """Return whether the turning point of a bug is at its moment."""
    return row["turning"] is not None and abs(int(row["turning"]) - int(row["moment"])) <= NEAR


def rows(known: Sequence[Row], jobs: int, seconds: float, others: int, keep: Path) -> Iterator[Row]:
    """Yield the rows with their moments, and write them to ``keep``. No row is measured twice."""
    done = [json.loads(line) for line in keep.read_text().splitlines()] if keep.exists() else []
    left = {row["bug"]: row for row in known}
    yield from (row for row in done if left.pop(row["bug"], None) is not None)
    tasks = [(row, seconds, others) for row in sorted(left.values(), key=lambda row: row["steps_after"])]
    for row in results_of(measure, tasks, jobs, lambda task: task[0]["scenario"] == FILES):
        with keep.open("a") as lines:
            lines.write(json.dumps(row) + "\n")
        yield row


def table(found: Sequence[Row], longer: int, steps_max: int) -> str:
    """Return the marked bugs as Markdown, after sentences that sum them up."""
    marked = sorted(
        (row for row in found if row["moment"] is not None), key=lambda row: ALL_BUGS.index(row["bug"])
    )
    near, likely = sum(map(is_near, marked)), sum(row["likely"] for row in found)
    said = (
        f"The moment of {len(marked)} planted bugs is known. The turning point is at most {NEAR} steps from "
        f"it in {near} of them ({near / max(1, len(marked)):.0%}). {likely} other runs were likely to fail "
        f"from the start. In the remaining {len(found) - len(marked) - likely} no such step decides. "
        f"{longer} runs have more than {steps_max:,} steps and were not measured."
    )
    head = "| Bug | Seed | Steps | Moment | What happens then | Fail before | right after | Turning point |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    for row in marked:
        numbers = [row[name] for name in ("seed", "steps_after", "moment", "turning")]
        numbers = ["" if number is None else f"{number:,}" for number in numbers]
        cells = [f"`{row['bug']}`", *numbers[:3], row["what"], *row["fail"], numbers[3]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([said, "", *lines])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table. Return 1 if it has too few marks, or they are too far apart."""
    parser = argparse.ArgumentParser(prog="turning_points", description=__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="what small_runs --keep wrote")
    parser.add_argument("--keep", type=Path, required=True, help="write each row there, and go on from there")
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each search (%(default)s)")
    parser.add_argument("--others", type=int, default=3, help="seeds to try if no step decides (%(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS_MAX, help="of the longest run (%(default)s)")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    asked = parser.parse_args(arguments)
    known = [json.loads(line) for line in asked.runs.read_text().splitlines()]
    short = [row for row in known if row["steps_after"] <= asked.steps]
    found = list(rows(short, asked.jobs, asked.seconds, asked.others, asked.keep))
    text = table(found, len(known) - len(short), asked.steps)
    print(text)
    if asked.write:
        write_between(ROOT / PAGE, MARKS, text)
    marked = [row for row in found if row["moment"] is not None]
    enough = len(marked) >= MARKS_MIN and sum(map(is_near, marked)) >= NEAR_SHARE * len(marked)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
