"""``pravega-lab simulate``: runs seeds on all cores, checks each run, and says how to repeat failed ones.

A run prints the faults that it drew. A failed run also prints its violations and the command that repeats it.
``--journal`` writes the steps of a single seed, line by line.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from pravega_lab.connector.simulation.scenario import SCENARIO as CONNECTOR
from pravega_lab.connector.simulation.scenario import run_connector
from pravega_lab.engine.simulation.flow.bugs import FLOW_BUGS
from pravega_lab.engine.simulation.flow.race import RACE_BUGS, run_race_seed
from pravega_lab.engine.simulation.flow.race import SCENARIO as RACE
from pravega_lab.engine.simulation.flow.scenario import run_flow
from pravega_lab.engine.simulation.groups.bugs import GROUP_BUGS
from pravega_lab.engine.simulation.groups.scenario import run_groups
from pravega_lab.engine.simulation.kernel.run import Result
from pravega_lab.engine.simulation.store.bugs import BUGS
from pravega_lab.engine.simulation.store.scenarios import NAMES, run_seed
from pravega_lab.errors import BadInputError

PROBLEMS_SHOWN = 10
GROUPS = "groups"  # reader groups have a separate world
FLOW = "flow"  # jobs have a separate world too
_SEEDS = re.compile(r"(\d+)(?:\.\.(\d+))?")


def add_arguments(
    parser: argparse.ArgumentParser, scenarios: Iterable[str] = (), bugs: Iterable[str] = ()
) -> None:
    """Add the options of the command, with further names of scenarios and bugs."""
    parser.add_argument(
        "--seeds", default="0..199", metavar="A..B", help="seeds to run, both included, or one (%(default)s)"
    )
    parser.add_argument(
        "--scenario",
        choices=(*NAMES, GROUPS, FLOW, CONNECTOR, RACE, *scenarios),
        help="one scenario for all seeds; else each seed draws one of the first six",
    )
    parser.add_argument(
        "--bug",
        choices=tuple(dict.fromkeys((*BUGS, *GROUP_BUGS, *FLOW_BUGS, *RACE_BUGS, *bugs))),
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
    parser.add_argument("--output", metavar="FILE", help="where the report goes (report-SEED.md; - for here)")
    parser.add_argument(
        "--verbose", action="store_true", help="a line for every seed, not only for failed ones"
    )


def run(args: argparse.Namespace) -> int:
    """Run the seeds, and return 0 if all passed.

    Raises:
        BadInputError: ``--seeds`` is not a range, or options contradict each other.
    """
    seeds = parse_seeds(args.seeds if args.report is None else str(args.report))
    if args.output and args.report is None:
        raise BadInputError("--output names the file of a report: add --report SEED")
    if args.journal and len(seeds) > 1:
        raise BadInputError(f"--journal is for one seed, but --seeds {args.seeds} has {len(seeds)}")
    planted: dict[str, Collection[str]] = {GROUPS: GROUP_BUGS, FLOW: FLOW_BUGS, RACE: RACE_BUGS}
    own = next((scenario for scenario, bugs in planted.items() if args.bug in bugs), None)
    if args.bug and own != (args.scenario if args.scenario in planted else None):
        where = f"--scenario {own}" if own else "another scenario"
        raise BadInputError(f"--bug {args.bug} belongs to another scenario: use it with {where}")
    if args.report is not None:
        return _report(args)
    jobs = args.jobs if args.jobs is not None else os.cpu_count() or 1
    if jobs < 1:
        raise BadInputError(f"--jobs is {jobs}, and must be at least 1")
    print(
        f"simulating seeds {seeds[0]} to {seeds[-1]} at commit {commit()}, on {min(jobs, len(seeds))} cores"
    )
    failed: list[Result] = []
    faults: Counter[str] = Counter()
    steps, cpu_s = 0, 0.0
    for result in _with_bar(_results(seeds, args.scenario, args.bug, jobs), len(seeds)):
        faults += result.faults
        steps, cpu_s = steps + result.steps, cpu_s + result.cpu_s
        _show(result, always=args.verbose or len(seeds) == 1)
        if result.problems:
            failed.append(result)
        if args.journal:
            _keep_journal(result, args.journal)
    print(f"{steps:,} steps, {steps / max(cpu_s, 1e-9):,.0f} per second of CPU")
    return _conclude(len(seeds), failed, faults)


def _report(args: argparse.Namespace) -> int:
    """Run the seed and write its report. Return 0 if nothing was violated."""
    from pravega_lab.engine.simulation.kernel.report import run_and_report

    seed = int(args.report)
    result, text = run_and_report(lambda: _run_seed(seed, args.scenario, args.bug), commit())
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


def parse_seeds(text: str) -> range:
    """Return the seeds of ``A..B`` (both included) or ``A``."""
    found = _SEEDS.fullmatch(text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if last < first:
        raise BadInputError(f"--seeds {text!r}: write A..B with A up to B, 0..199 for example, or one number")
    return range(first, last + 1)


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


def _results(seeds: range, scenario: str | None, bug: str | None, jobs: int) -> Iterator[Result]:
    """Yield results in the order of seeds."""
    if jobs == 1 or len(seeds) == 1:
        yield from (_run_seed(seed, scenario, bug) for seed in seeds)
        return
    # Spawn processes: a fork of this process would inherit its threads.
    with multiprocessing.get_context("spawn").Pool(min(jobs, len(seeds))) as pool:
        yield from pool.imap(_run_one, [(seed, scenario, bug) for seed in seeds], chunksize=4)


def _run_one(task: tuple[int, str | None, str | None]) -> Result:
    return _run_seed(*task).without_journal()


def _run_seed(seed: int, scenario: str | None, bug: str | None) -> Result:
    if scenario == FLOW:
        return run_flow(seed, bug)
    if scenario == RACE:
        return run_race_seed(seed, bug)
    if scenario == CONNECTOR:
        return run_connector(seed)[0]
    return run_groups(seed, bug) if scenario == GROUPS else run_seed(seed, scenario, bug)


def _with_bar(results: Iterator[Result], total: int) -> Iterator[Result]:
    from tqdm import tqdm

    with tqdm(results, total=total, unit="seed", file=sys.stderr, disable=None) as bar:
        yield from bar


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
