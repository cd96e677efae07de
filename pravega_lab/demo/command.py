"""``pravega-lab demo``: the main job from events to an exactly-once result, shown and proven.

The exit code is 0 only if nothing was lost, doubled, wrong, late or out of order, and the stream really
split and merged before and after the kill.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from pravega_lab.datasets import FLIGHTS, FlightEvents, flights
from pravega_lab.demo.history import Scales
from pravega_lab.demo.replay import SCALING_CLOCK, Chunk, plan
from pravega_lab.demo.run import Job, around_the_storm
from pravega_lab.demo.verdict import Verdict
from pravega_lab.errors import BadInputError
from pravega_lab.lab.lab import Lab
from pravega_lab.progress import bar

PAGE = Path("demo.html")
SPEED_MAX = 1_000.0  # beyond it, the clock of scaling has no meaning


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``pravega-lab demo``."""
    parser.add_argument("--events", type=int, default=FLIGHTS, help="so many flights, the storm among them")
    parser.add_argument("--speed", type=float, default=1.0, help="replay so many times as fast, at most 1000")
    parser.add_argument(
        "--data", type=Path, help="keep the store, the checkpoint and the progress in this folder"
    )
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write the recorded run as an SVG too")
    parser.add_argument("--no-kill", action="store_true", help="leave the driver alone")


def run(args: argparse.Namespace) -> int:
    """Run the job and print the verdict."""
    if not 1 <= args.events <= FLIGHTS:
        raise BadInputError(f"--events {args.events}: give a number from 1 to {FLIGHTS:,}")
    if not 0 < args.speed <= SPEED_MAX:
        raise BadInputError(f"--speed {args.speed:g}: give a number above 0, and at most {SPEED_MAX:g}")
    with tempfile.TemporaryDirectory(prefix="pravega-lab-") as scratch:
        folder = args.data or Path(scratch)
        if (folder / "spark").exists():
            raise BadInputError(f"--data {folder}: holds an earlier demo; give a new folder")
        for page in (PAGE, args.picture):
            if page is not None:
                _make_place(page)
        return _demo(folder, args)


def _make_place(page: Path) -> None:
    """Make sure, before the work, that a page can be written at its end. Raises OSError."""
    page.parent.mkdir(parents=True, exist_ok=True)
    is_new = not page.exists()
    page.open("a").close()
    if is_new:
        page.unlink()


def _demo(folder: Path, args: argparse.Namespace) -> int:
    with Lab(folder / "store", scaling_clock=max(1, round(SCALING_CLOCK * args.speed))) as lab:
        job = Job(lab, "demo", folder / "spark")
        observers = [lab.observe(job.flights), lab.observe(job.driver)]
        events = around_the_storm(flights(), args.events)  # while Spark starts, which takes longer
        chunks = plan(events.table, args.speed)
        with bar("starting Spark") as waiting:
            job.wait_running(waiting.refresh)
        kill_at = None if args.no_kill else _middle_of_storm(chunks)
        _replay(job, events, chunks, args.speed, kill_at)
        with bar("finishing", unit="B") as results:
            job.finish(on_wait=lambda: results.update(job.result_bytes() - results.n))
        verdict, scales = job.verdict(events), job.scales()
        _export(observers, args.picture)
    return _report(verdict, scales, killed=kill_at is not None)


def _middle_of_storm(chunks: list[Chunk]) -> int | None:
    """Return the chunk after which to kill: where half of the slow part is over."""
    slow = [number for number, chunk in enumerate(chunks) if chunk.slow]
    return slow[len(slow) // 2] if slow else None


def _replay(job: Job, events: FlightEvents, chunks: list[Chunk], speed: float, kill_at: int | None) -> None:
    with bar("flights", len(events), " events", leave=True) as replayed:
        for number, chunk in enumerate(job.replay(events, chunks, speed)):
            replayed.update(chunk.stop - chunk.start)
            replayed.set_postfix_str(f"{events.table['time_hour'].iloc[chunk.stop - 1]:%d %b}", refresh=False)
            if number == kill_at:
                replayed.write("kill -9: Spark's Python and JVM; starting again")
                job.kill_and_restart()


def _export(observers: list[object], picture: Path | None) -> None:
    from pravega_lab.widgets import show

    board = show(*observers)
    board.export(PAGE)
    if picture is not None:
        picture.write_text(board.picture(), encoding="utf-8")


def _report(verdict: Verdict, scales: list[Scales], *, killed: bool) -> int:
    splits, merges = sum(s.splits for s in scales), sum(s.merges for s in scales)
    told = "killed once" if killed else "not killed"
    problems = [] if verdict.exact else [verdict.first_difference or "see the numbers"]
    if verdict.wrong or verdict.out_of_order:
        problems.append(f"{verdict.wrong} hours wrong, {verdict.out_of_order} flights out of order")
    for problem in problems:
        print(f"NOT EXACT: {problem}", file=sys.stderr)
    is_scaled = not killed or all(part.splits and part.merges for part in scales)
    if not is_scaled:
        print(
            "NOT SCALED: the stream did not split and merge both before the kill and after it."
            " The run was too short for that: give more --events, or a lower --speed.",
            file=sys.stderr,
        )
    print(
        f"{verdict.events:,} events, {splits} splits, {merges} merges, {told}: "
        f"lost {verdict.lost}, doubled {verdict.doubled}, late {verdict.late}"
        f" (look at the run: {PAGE})"
    )
    return 0 if is_scaled and not problems else 1
