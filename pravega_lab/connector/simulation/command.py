"""``pravega-lab simulate``: runs seeds on all cores, checks each run, and says how to repeat failed ones.

A run prints the faults that it drew. A failed run also prints its violations and the command that repeats it.
``--journal`` writes the steps of a single seed, line by line.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pravega_lab.connector.simulation.families import ALL_BUGS, FILES, PLANTED, SCENARIOS, run_any
from pravega_lab.connector.simulation.processes import workers
from pravega_lab.connector.simulation.seeds import parse_seeds as parse_seeds
from pravega_lab.engine.simulation.kernel.faults import Plan, plan_of
from pravega_lab.engine.simulation.kernel.run import Result
from pravega_lab.errors import BadInputError

if TYPE_CHECKING:
    from pravega_lab.engine.simulation.explain.shrink import Shrinker

PROBLEMS_SHOWN = 10
SECONDS = 60.0  # how long --explain searches


def add_arguments(
    parser: argparse.ArgumentParser, scenarios: Iterable[str] = (), bugs: Iterable[str] = ()
) -> None:
    """Add the options of the command, with further names of scenarios and bugs."""
    parser.add_argument(
        "--seeds", default="0..199", metavar="A..B", help="seeds to run, both included, or one (%(default)s)"
    )
    parser.add_argument(
        "--scenario",
        choices=(*SCENARIOS, FILES, *scenarios),
        help="one scenario for all seeds; else each seed draws one of the first six",
    )
    parser.add_argument(
        "--bug",
        choices=tuple(dict.fromkeys((*ALL_BUGS, *bugs))),
        metavar="NAME",
        help="plant a deliberate bug and see it found: %(choices)s",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (as many as there are cores)")
    parser.add_argument(
        "--journal", metavar="FILE", help="with one seed: write its journal there (- for here)"
    )
    parser.add_argument(
        "--report",
        type=int,
        metavar="SEED",
        help="run this one seed and write a report of it: what was seen, versions, order of steps, log, and "
        "the command that repeats it",
    )
    parser.add_argument(
        "--explain",
        type=int,
        metavar="SEED",
        help="run this one seed, search for the smallest run that violates the same rule, and tell its story",
    )
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="with --explain: when the search ends (%(default)s)"
    )
    parser.add_argument(
        "--plan",
        default="",
        metavar="TEXT",
        help="let only some of the drawn faults happen, as --explain prints it: 'disk/torn/1, rounds=2'",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="where the report goes (report-SEED.md; - for here), or a page with the picture of --explain",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="a line for every seed, not only for failed ones"
    )


def run(args: argparse.Namespace) -> int:
    """Run the seeds, and return 0 if all passed.

    Raises:
        BadInputError: ``--seeds`` is not a range, or options contradict each other.
    """
    single = next((str(seed) for seed in (args.report, args.explain) if seed is not None), None)
    seeds, plan = parse_seeds(single or args.seeds), plan_of(args.plan)
    if args.output and single is None:
        raise BadInputError("--output names the file of a report: add --report SEED or --explain SEED")
    if args.report is not None and args.explain is not None:
        raise BadInputError("--report and --explain are two accounts of a run: choose one")
    if args.journal and len(seeds) > 1:
        raise BadInputError(f"--journal is for one seed, but --seeds {args.seeds} has {len(seeds)}")
    own = next((scenario for scenario, bugs in PLANTED.items() if args.bug in bugs), None)
    if args.bug and own != (args.scenario if args.scenario in PLANTED else None):
        where = f"--scenario {own}" if own else "another scenario"
        raise BadInputError(f"--bug {args.bug} belongs to another scenario: use it with {where}")
    for option, where in (("--journal", args.journal), ("--output", args.output)):
        check_place(option, where)
    if args.report is not None:
        return _report(args, plan)
    jobs = args.jobs if args.jobs is not None else os.cpu_count() or 1
    if jobs < 1:
        raise BadInputError(f"--jobs is {jobs}, and must be at least 1")
    if args.explain is not None:
        return _explain(args, jobs, plan)
    print(
        f"simulating seeds {seeds[0]} to {seeds[-1]} at commit {commit()}, on {min(jobs, len(seeds))} cores"
    )
    failed: list[Result] = []
    faults: Counter[str] = Counter()
    steps, cpu_s = 0, 0.0
    for result in _with_bar(_results(seeds, args.scenario, args.bug, jobs, plan), len(seeds)):
        faults += result.faults
        steps, cpu_s = steps + result.steps, cpu_s + result.cpu_s
        _show(result, always=args.verbose or len(seeds) == 1)
        if result.problems:
            failed.append(result)
        if args.journal:
            _keep_journal(result, args.journal)
    print(f"{steps:,} steps, {steps / max(cpu_s, 1e-9):,.0f} per second of CPU")
    return _conclude(len(seeds), failed, faults)


def check_place(option: str, where: str | None) -> None:
    """Refuse, before the work, a file that cannot be written after it because its folder is missing.

    Raises:
        BadInputError: The folder does not exist, or the file is a folder.
    """
    if not where or where == "-":
        return
    path = Path(where)
    if path.is_dir():
        raise BadInputError(f"{option} {where} is a folder: name a file")
    if not path.parent.is_dir():
        raise BadInputError(f"{option} {where}: there is no folder {path.parent}; make it first")


def _report(args: argparse.Namespace, plan: Plan) -> int:
    """Run the seed and write its report. Return 0 if nothing was violated."""
    from pravega_lab.engine.simulation.kernel.report import run_and_report

    seed = int(args.report)
    result, text = run_and_report(lambda: run_any(seed, args.scenario, args.bug, plan), commit())
    if args.journal:
        _keep_journal(result, args.journal)
    where = args.output or f"report-{seed}.md"
    if where == "-":
        print(text, end="")
    else:
        Path(where).write_text(text, encoding="utf-8")
        n = len(result.problems)
        print(f"seed {seed}: {f'{n} violations' if n else 'no violation'}; the report is in {where}")
    return 1 if result.problems else 0


def _explain(args: argparse.Namespace, jobs: int, plan: Plan) -> int:
    """Shrink the run of the seed, and print its story. Return 0 if nothing was violated."""
    from pravega_lab.connector.simulation.explaining import shrunk, story, turning_point
    from pravega_lab.engine.simulation.explain.page import as_page, as_text

    case = int(args.explain), args.scenario, args.bug
    with _bar(unit="run") as bar:

        def watch(shrinker: Shrinker) -> None:
            bar.set_postfix(faults=len(shrinker.faults), refresh=False)
            bar.update(shrinker.runs - bar.n)

        shrinker = shrunk(case, jobs, args.seconds, watch, plan)
    if shrinker is None:
        print(f"seed {args.explain}: no violation, so there is nothing to explain")
        return 0
    told, turning = story(shrinker, case), turning_point(shrinker, case, jobs, args.seconds)
    print(as_text(shrinker.first, told, shrinker.runs, turning))
    if args.journal:
        _keep_journal(told.result, args.journal)
    if args.output:
        Path(args.output).write_text(as_page(shrinker.first, told, shrinker.runs, turning), encoding="utf-8")
        print(f"the picture is in {args.output}")
    return 1


def commit() -> str:
    """Return the commit of this checkout, or "unknown" outside a checkout."""
    here = Path(__file__).resolve().parent
    try:
        asked = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return asked.stdout.strip() or "unknown"


def _results(seeds: range, scenario: str | None, bug: str | None, jobs: int, plan: Plan) -> Iterator[Result]:
    """Yield results in the order of seeds."""
    if jobs == 1 or len(seeds) == 1:
        yield from (run_any(seed, scenario, bug, plan) for seed in seeds)
        return
    with workers(min(jobs, len(seeds)), arrays=scenario == FILES) as pool:
        # Not a list: someone may give many seeds, and end the command when they have seen enough.
        yield from pool.imap(_run_one, ((seed, scenario, bug, plan) for seed in seeds))


def _run_one(task: tuple[int, str | None, str | None, Plan]) -> Result:
    return run_any(*task).without_journal()


def _bar(*, total: int | None = None, unit: str) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, unit=unit, file=sys.stderr, disable=None)


def _with_bar(results: Iterator[Result], total: int) -> Iterator[Result]:
    with _bar(total=total, unit="seed") as bar:
        for result in results:
            yield result
            bar.update()


def _show(result: Result, *, always: bool) -> None:
    if result.problems or always:
        from tqdm import tqdm

        lines = [f"FAILED {result.summary()}" if result.problems else result.summary()]
        lines += [f"  {problem}" for problem in result.problems[:PROBLEMS_SHOWN]]
        if len(result.problems) > PROBLEMS_SHOWN:
            lines.append(f"  and {len(result.problems) - PROBLEMS_SHOWN} more")
        if result.problems:
            lines.append(f"  repeat: {result.command}")
        tqdm.write("\n".join(lines), file=sys.stdout)


def _keep_journal(result: Result, where: str) -> None:
    text = result.journal.to_bytes()
    if where == "-":
        sys.stdout.write(text.decode())
    else:
        Path(where).write_bytes(text)


def _conclude(count: int, failed: list[Result], faults: Counter[str]) -> int:
    drawn = ", ".join(f"{kind} {n}" for kind, n in sorted(faults.items()) if n) or "none"
    print(f"faults drawn: {drawn}")
    if failed:
        print(f"{len(failed)} of {count} seeds failed; repeat each with:")
        print("\n".join(f"  {result.command}" for result in failed))
        return 1
    print(f"{count} seeds, no violation")
    return 0
