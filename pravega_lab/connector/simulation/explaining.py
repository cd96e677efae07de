"""``pravega-lab simulate --explain SEED``: shrinks a failing run on all cores, and prints its story.

`engine.simulation.explain` decides what is tried. This module runs it, in processes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pravega_lab.connector.simulation.families import FILES, checker_of, run_any
from pravega_lab.connector.simulation.processes import workers
from pravega_lab.engine.simulation.explain.mark import Mark
from pravega_lab.engine.simulation.explain.moment import KnownMoment
from pravega_lab.engine.simulation.explain.rules import main_rule
from pravega_lab.engine.simulation.explain.shrink import Proposals, Shrinker, run_proposals, shrink
from pravega_lab.engine.simulation.explain.story import Story, story_of
from pravega_lab.engine.simulation.explain.turning import TurningPoint
from pravega_lab.engine.simulation.kernel.faults import EVERYTHING, Plan
from pravega_lab.engine.simulation.kernel.run import Result

Case = tuple[int, str | None, str | None]  # seed, scenario, bug
Watch = Callable[[Shrinker], None]


def shrunk(
    case: Case, jobs: int, seconds: float, watch: Watch = lambda _: None, plan: Plan = EVERYTHING
) -> Shrinker | None:
    """Run a seed and shrink the run. Return None if it violates no rule.

    Args:
        case: Seed, scenario and planted bug, as `run_any` takes them.
        jobs: How many processes run plans at the same time. With 1, this process runs them.
        seconds: When to stop the search; a run that has begun is finished. With one process, of CPU time.
        watch: Is called after each run.
        plan: What of the seed's run happens to begin with.
    """
    first = run_any(*case, plan)
    rule = main_rule(first, checker_of(case[2]))
    if rule is None:
        return None
    shrinker = Shrinker(first.without_journal(), rule)
    clock = _clock(jobs)
    end_s = clock() + seconds

    def is_enough() -> bool:
        watch(shrinker)
        return clock() > end_s

    with _runner(case, jobs) as run:
        shrink(shrinker, run, is_enough, jobs)
    return shrinker


def turning_point(shrinker: Shrinker, case: Case, jobs: int, seconds: float) -> TurningPoint:
    """Search for the step at which the failure of the smallest run became inevitable."""
    turning = TurningPoint(shrinker.best, shrinker.rule)
    clock = _clock(jobs)
    end_s = clock() + seconds
    with _runner(case, jobs) as run:
        run_proposals(turning.proposals(), run, lambda: clock() > end_s, jobs)
    return turning


def known_moment(smallest: Result, rule: str, case: Case, seconds: float = math.inf) -> KnownMoment:
    """Search for the step of the smallest run after which the planted bug is not needed any more."""
    known = KnownMoment(smallest, rule)
    _search(known.proposals(), case, seconds)
    return known


def mark_of(smallest: Result, rule: str, case: Case, seconds: float = math.inf) -> Mark:
    """Search for what decides the smallest run: a fault, else the wrong code, else a line of the journal.

    Args:
        smallest: The run that failed, with its journal.
        rule: The rule that it violated.
        case: Seed, scenario and planted bug of the run.
        seconds: Of CPU time, for each of the searches.
    """
    mark = Mark(smallest, rule)
    _search(mark.proposals([one.step for one in smallest.happened]), case, seconds)
    if mark.step is None and not mark.was_likely:
        acts = known_moment(smallest, rule, case, seconds).step
        _search(mark.proposals([] if acts is None else [acts]), case, seconds)
    if mark.step is None and not mark.was_likely:
        _search(mark.halved(smallest.journal_steps), case, seconds)
    return mark


def _search(proposals: Proposals, case: Case, seconds: float) -> None:
    """Run what a search proposes in this process, for so many seconds of CPU time."""
    clock = _clock(1)
    end_s = clock() + seconds
    with _runner(case, 1) as run:
        run_proposals(proposals, run, lambda: clock() > end_s)


def _clock(jobs: int) -> Callable[[], float]:
    """Return the clock of a search: the CPU time of this process, if this process runs the plans."""
    return time.process_time if jobs == 1 else time.monotonic


@contextmanager
def _runner(case: Case, jobs: int) -> Iterator[Callable[[Sequence[Plan]], list[Result]]]:
    """Return a function that runs plans of a case: in this process, or in so many processes."""
    if jobs == 1:
        yield lambda plans: [_run((case, plan)) for plan in plans]
        return
    with workers(jobs, arrays=case[1] == FILES) as pool:
        yield lambda plans: pool.map(_run, [(case, plan) for plan in plans], 1)


def story(shrinker: Shrinker, case: Case) -> Story:
    """Run the smallest run once more, with its journal, and return its story."""
    return story_of(run_any(*case, shrinker.best.plan), shrinker.rule)


def _run(task: tuple[Case, Plan]) -> Result:
    case, plan = task
    return run_any(*case, plan).without_journal()
