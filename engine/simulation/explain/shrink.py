"""`Shrinker`: finds a run with few faults and little work that still violates the same rule.

Faults are minimized by delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing
input", 2002): leave out halves, then quarters, and so on, and keep what still fails. Before that, whole kinds
of faults are left out. Rounds of work and applications are left out between.

The shrinker proposes plans in batches, and its caller runs them, one after the other or several at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

from ..kernel.faults import Fault, Plan, identities
from ..kernel.run import Result
from .rules import rules_of

Batch = Sequence[Plan]
Results = Sequence[Result | None]  # None for a plan that was not run, because an earlier one was good enough
Proposals = Generator[Batch, Results, None]
ROUNDS = (1, 2, 4, 8)
MESSAGES = (0, 100, 300, 1_000)
STEPS_MORE = 20_000  # a smaller run may take more steps, twice as many and these
FEW = 3
MANY = 10  # if more faults remain, the search begins again
RESTARTS = 100
SOME = (3, 6, 10)
CROWD = 40  # of more faults, a shorter run is looked for first
SHORTER = 10
VARIANTS = 60  # of each number of faults
DROPS = 4  # tries to leave out so many faults, before it is tried with half as many
JOBS = ("flow", "files", "connector")  # scenarios whose work is measured in messages


class Shrinker:
    """The search for a smaller run. ``best`` is the smallest failing run so far.

    Args:
        result: The run that failed.
        rule: The rule that a smaller run must violate, too; see `rules.rule_of`.
    """

    def __init__(self, result: Result, rule: str) -> None:
        self.first = self.best = self._at = result
        self.rule = rule
        self.first_faults = identities(result.happened)
        self.runs = 0
        self._steps_max = 2 * result.steps + STEPS_MORE
        self._known: dict[Plan, bool] = {}

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults of the smallest run so far, in the order in which they happened."""
        return identities(self.best.happened)

    def proposals(self) -> Proposals:
        """Propose plans, the most wanted first, and take their results, until nothing smaller is found."""
        yield from self._try([Plan(frozenset())])
        if len(self.faults) > CROWD:
            is_job = self.first.scenario in JOBS
            yield from self._afresh(CROWD, RESTARTS // 2) if is_job else self._shorter()
        yield from self._rounds()
        # Each fault is needed now, in this order of steps. In another order fewer may be.
        yield from self._afresh(MANY, RESTARTS)

    @property
    def _faults(self) -> tuple[Fault, ...]:
        """The faults of the run that is being shrunk: the smallest, or a larger one after a restart."""
        return identities(self._at.happened)

    def _rounds(self) -> Proposals:
        for _ in range(4):
            before = self._size()
            yield from self._less_work()
            yield from self._fewer_kinds()
            if len(self._faults) > FEW:
                yield from self._other_times()
            if len(self._faults) > MANY:
                yield from self._drop()
            yield from self._fewer_faults()
            if self._size() == before:
                return

    def _size(self) -> tuple[int, Plan]:
        return len(self._faults), replace(self._at.plan, faults=None)

    def _try(self, plans: Sequence[Plan]) -> Generator[Batch, Results, bool]:
        """Run plans that were not run before, and return whether one of them fails as wanted."""
        limited = (replace(plan, steps_max=plan.steps_max or self._steps_max) for plan in plans)
        new = [plan for plan in dict.fromkeys(limited) if plan not in self._known]
        results = (yield new) if new else []
        for plan, result in zip(new, results, strict=True):
            if result is None:
                break
            self.runs += 1
            self._known[plan] = self.rule in rules_of(result)
            if self._known[plan]:
                # Faults that the plan names and that were not drawn any more have no part in the run.
                happened = frozenset(identities(result.happened))
                self._at = replace(result, plan=replace(plan, faults=happened, steps_max=self._steps_max))
                self._known[self._at.plan] = True
                if len(self._faults) <= len(self.faults):
                    self.best = self._at
                return True
        return False

    def _with(self, faults: Sequence[Fault]) -> Plan:
        return replace(self._at.plan, faults=frozenset(faults))

    def _shorter(self) -> Proposals:
        """Propose runs with all their faults and a few rounds of work, in other orders: they draw fewer.

        They may take half the steps of the first run: a run that is not shorter does not help.
        """
        for rounds in ROUNDS[:3]:
            plan = replace(self.first.plan, rounds_max=rounds, steps_max=self.first.steps // 2)
            if (yield from self._try([plan, *(replace(plan, variant=n) for n in range(SHORTER))])):
                return

    def _afresh(self, most: int, restarts: int) -> Proposals:
        """Begin again in other orders, with little work, until at most ``most`` faults remain.

        Some faults of the first run are tried there, and all. A late fault is one of those that the first run
        drew late, so a few of its own faults may be enough where the first faults of each kind are not.
        """
        chance = Random(0)
        for variant in range(restarts):
            if len(self.faults) <= most:
                return
            plan = replace(self.first.plan, variant=variant)
            if self.first.scenario in JOBS:
                plan = replace(plan, messages=0, rounds_max=1)
            few = (chance.sample(self.first_faults, n) for n in SOME if n < len(self.first_faults))
            if (yield from self._try([*(replace(plan, faults=frozenset(faults)) for faults in few), plan])):
                yield from self._rounds()

    def _less_work(self) -> Proposals:
        plan = self._with(self._faults)
        if self._at.scenario in JOBS:
            less = [n for n in MESSAGES if plan.messages is None or n < plan.messages]
            yield from self._try([replace(plan, messages=n) for n in less])
            plan = self._with(self._faults)
        less = [n for n in ROUNDS if plan.rounds_max is None or n < plan.rounds_max]
        yield from self._try([replace(plan, rounds_max=n) for n in less])
        for name in self._at.cast:
            plan = self._with(self._faults)
            yield from self._try([replace(plan, without=plan.without | {name})])

    def _fewer_kinds(self) -> Proposals:
        kinds = list(dict.fromkeys(fault.kind for fault in self._faults))
        yield from self._try([self._only(lambda fault, kind=kind: fault.kind == kind) for kind in kinds])  # type: ignore[misc]
        for kind in sorted(kinds, key=lambda kind: -sum(fault.kind == kind for fault in self._faults)):
            yield from self._try([self._only(lambda fault, kind=kind: fault.kind != kind)])  # type: ignore[misc]

    def _other_times(self) -> Proposals:
        """Propose a few faults at other times: the moment of a fault often decides, not their number."""
        kinds = list(dict.fromkeys((fault.part, fault.kind) for fault in self.first_faults))
        chance = Random(0)
        for n_faults in (1, 2, 3):
            plans = []
            for _ in range(VARIANTS):
                few = [Fault(*chance.choice(kinds), chance.choice((1, 1, 2))) for _ in range(n_faults)]
                plans.append(replace(self._with(few), variant=chance.randrange(1_000)))
            if (yield from self._try(plans)):
                return

    def _only(self, is_kept: Callable[[Fault], bool]) -> Plan:
        return self._with([fault for fault in self._faults if is_kept(fault)])

    def _drop(self) -> Proposals:
        """Propose to leave out some of many faults, chosen by chance: more after a success, fewer after none.

        Every change of a run changes what happens later. Most faults can therefore be left out one by one,
        and few of them together. Delta debugging would try all large parts in vain before small ones.
        """
        chance = Random(0)
        n = len(self._faults) // 2
        while len(self._faults) > MANY:
            faults = self._faults
            if n <= 1:
                tried = [{fault} for fault in chance.sample(faults, len(faults))]
            else:
                tried = [set(chance.sample(faults, n)) for _ in range(DROPS)]
            if (yield from self._try([self._only(lambda f, out=out: f not in out) for out in tried])):  # type: ignore[misc]
                n = min(2 * n, len(self._faults) // 2)
            elif n <= 1:
                return
            else:
                n //= 2

    def _fewer_faults(self) -> Proposals:
        n_chunks = 2
        while faults := self._faults:
            n_chunks = min(n_chunks, len(faults))
            chunks = _chunks(faults, n_chunks)
            rests = [[f for other in chunks if other is not chunk for f in other] for chunk in chunks]
            tried = ([] if n_chunks == 2 else chunks) + rests
            if (yield from self._try([self._with(kept) for kept in tried])):
                n_chunks = max(2, n_chunks - 1)
            elif n_chunks == len(faults):
                return
            else:
                n_chunks = 2 * n_chunks


def _chunks(faults: Sequence[Fault], n: int) -> list[list[Fault]]:
    """Divide faults into ``n`` chunks of nearly equal size, in order."""
    bounds = [len(faults) * k // n for k in range(n + 1)]
    return [list(faults[low:high]) for low, high in pairwise(bounds)]


def shrink(
    shrinker: Shrinker,
    run: Callable[[Sequence[Plan]], Sequence[Result]],
    is_enough: Callable[[], bool],
    at_once: int = 1,
) -> None:
    """Run what the shrinker proposes, until there is nothing more, or ``is_enough``. See `run_proposals`."""
    run_proposals(
        shrinker.proposals(), run, is_enough, at_once, lambda result: shrinker.rule in rules_of(result)
    )


def run_proposals(
    proposals: Proposals,
    run: Callable[[Sequence[Plan]], Sequence[Result]],
    is_enough: Callable[[], bool],
    at_once: int = 1,
    is_good: Callable[[Result], bool] = lambda _: False,
) -> None:
    """Run plans as they are proposed, and pass the results back.

    Args:
        run: Runs plans, at most ``at_once`` of them, and returns their results in order.
        is_enough: Is asked after each call of ``run``. If it is, no more plans are run.
        at_once: How many plans are run before the first result is looked at.
        is_good: Whether a result makes the rest of its batch needless.
    """
    batch = next(proposals, None)
    while batch is not None and not is_enough():
        results: list[Result | None] = [None] * len(batch)
        for first in range(0, len(batch), at_once):
            found = run(batch[first : first + at_once])
            results[first : first + len(found)] = found
            if is_enough() or any(is_good(result) for result in found):
                break
        try:
            batch = proposals.send(results)
        except StopIteration:
            batch = None
