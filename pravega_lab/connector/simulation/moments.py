"""A table of moments: when the smallest run of a planted bug was decided, and its turning point.

The moment of a bug is *known* if its smallest run needs a fault, and the run could go well at first: it is
the step of the last fault. All faults of the run are needed, so before the last one nothing has gone wrong
for good. The *turning point* is the step after which most other futures fail. It is found without knowing
faults or bug. A third step is that after which the run fails also without the bug
(`engine.simulation.explain.moment`): by then the wrong code has acted.

``python -m pravega_lab.connector.simulation.moments --runs RUNS --keep FILE --write`` takes the smallest
runs from the rows that ``small_runs --keep RUNS`` wrote, and writes the table into docs/simulation.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pravega_lab.connector.simulation.explaining import known_moment, turning_point
from pravega_lab.connector.simulation.families import ALL_BUGS, run_any
from pravega_lab.connector.simulation.processes import workers
from pravega_lab.connector.simulation.small_runs import PAGE, ROOT, Row, write_between
from pravega_lab.engine.simulation.explain.shrink import Shrinker
from pravega_lab.engine.simulation.explain.turning import LIKELY
from pravega_lab.engine.simulation.kernel.faults import plan_of

MARKS = "<!-- moments -->\n", "<!-- end of moments -->\n"
NEAR = 5
NEAR_SHARE = 0.95
MARKS_MIN = 40


def measure(task: tuple[Row, float]) -> Row:
    """Return the row of a smallest run with its known step, its turning point and its first share."""
    row, seconds = task
    case = row["seed"], row["scenario"], row["bug"]
    result = run_any(*case, plan_of(row["plan"])).without_journal()
    turning = turning_point(Shrinker(result, row["rule"]), case, 1, seconds)
    return row | {
        "known": known_moment(result, row["rule"], case).step,
        "turning": turning.step,
        "likely": turning.curve[0].value,
        "curve": [[share.step, share.failed, share.futures] for share in turning.curve],
    }


def is_marked(row: Row) -> bool:
    """Return whether the moment of a bug is known: the run needs a fault, and could go well at first."""
    return row["last_fault"] > 0 and row["turning"] is not None and bool(row["likely"] < LIKELY)


def is_near(row: Row) -> bool:
    """Return whether the turning point is at the moment of the bug."""
    return abs(int(row["turning"]) - int(row["last_fault"])) <= NEAR


def rows(known: Sequence[Row], jobs: int, seconds: float, keep: Path) -> Iterator[Row]:
    """Yield the rows with their moments, and write them to ``keep``. No row is measured twice."""
    done = [json.loads(line) for line in keep.read_text().splitlines()] if keep.exists() else []
    yield from done
    bugs = {row["bug"] for row in done}
    left = (row for row in known if row["last_fault"] and row["bug"] not in bugs)
    tasks = [(row, seconds) for row in sorted(left, key=lambda row: row["steps_after"])]
    with workers(jobs) as pool:
        for row in pool.imap_unordered(measure, tasks, 1):
            with keep.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
            yield row


def table(found: Sequence[Row]) -> str:
    """Return the marked bugs as Markdown, after sentences that sum them up."""
    marked = sorted(filter(is_marked, found), key=lambda row: ALL_BUGS.index(row["bug"]))
    near = sum(map(is_near, marked))
    likely = sum(row["likely"] >= LIKELY for row in found if row["last_fault"])
    said = (
        f"The moment of {len(marked)} planted bugs is known. The turning point is at most {NEAR} steps from "
        f"it in {near} of them ({near / max(1, len(marked)):.0%}). Another {likely} runs that need a fault "
        "were likely to fail from the start."
    )
    head = "| Bug | Steps | Moment | Turning point | The wrong code has acted | Fail from the start |"
    lines = [head, "|---|---|---|---|---|---|"]
    for row in marked:
        numbers = [row[name] for name in ("steps_after", "last_fault", "turning", "known")]
        cells = [f"`{row['bug']}`", *("" if number is None else f"{number:,}" for number in numbers)]
        lines.append("| " + " | ".join([*cells, f"{row['likely']:.0%}"]) + " |")
    return "\n".join([said, "", *lines])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table. Return 1 if it has too few marks, or they are too far apart."""
    parser = argparse.ArgumentParser(prog="moments", description=__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="what small_runs --keep wrote")
    parser.add_argument("--keep", type=Path, required=True, help="write each row there, and go on from there")
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument("--seconds", type=float, default=120.0, help="for each bug (%(default)s)")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    asked = parser.parse_args(arguments)
    known = [json.loads(line) for line in asked.runs.read_text().splitlines()]
    found = list(rows(known, asked.jobs, asked.seconds, asked.keep))
    print(table(found))
    if asked.write:
        write_between(ROOT / PAGE, MARKS, table(found))
    marked = list(filter(is_marked, found))
    enough = len(marked) >= MARKS_MIN and sum(map(is_near, marked)) >= NEAR_SHARE * len(marked)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
