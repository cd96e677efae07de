"""Mutants are what their names say, and the judged ones still exist."""

from __future__ import annotations

import tomllib
from types import FunctionType

from tests.mutation.cores import CORES, ROOT
from tests.mutation.meter import JUDGED, sampled
from tests.mutation.meter import all_tasks as tasks_of_all_cores
from tests.mutation.operators import code_of, mutants

SOURCE = '''
class Box:
    def fits(self, n, most=10):
        """Return how many more fit."""
        if n < 0:
            raise ValueError(f"{n} < 0")
        self.n = n
        return most - n if n <= most and self else None

    def __repr__(self):
        return "a box" if self else ""
'''


def test_each_operator_makes_the_change_that_it_names() -> None:
    names: dict[str, object] = {}
    exec(compile(SOURCE, "boxes.py", "exec"), names)
    fits = names["Box"].fits  # type: ignore[attr-defined]
    assert isinstance(fits, FunctionType)

    class Self:
        n = -1

    def outcome(n: int) -> object:
        here = Self()
        try:
            return fits(here, n), here.n
        except ValueError:
            return "refused"

    right, seen = fits.__code__, {}
    for mutant in mutants(SOURCE):
        fits.__code__ = code_of(SOURCE, mutant, "boxes.py")
        seen[mutant.name] = [outcome(n) for n in (-1, 0, 1, 10, 11)]
        fits.__code__ = right
    assert outcome(1) == (9, 1)
    same = ["refused", (10, 0), (9, 1), (0, 10), (None, 11)]
    assert [outcome(n) for n in (-1, 0, 1, 10, 11)] == same
    expression = "`most - n if n <= most and self else None`"
    assert seen == {
        "Box.fits: `n < 0` with another comparison, no. 1": ["refused", "refused", *same[2:]],
        "Box.fits: `0` is 1": ["refused", "refused", *same[2:]],
        "Box.fits: drop `raise ValueError(f'{n} < 0')`": [(11, -1), *same[1:]],
        "Box.fits: drop `self.n = n`": ["refused", (10, -1), (9, -1), (0, -1), (None, -1)],
        f"Box.fits: `return {expression[1:-1]}` returns None": [
            "refused",
            *((None, n) for n in (0, 1, 10, 11)),
        ],
        f"Box.fits: {expression} the other way": ["refused", (None, 0), (None, 1), (None, 10), (-1, 11)],
        "Box.fits: `n <= most and self` with or": [*same[:4], (-1, 11)],
        "Box.fits: `n <= most` with another comparison, no. 1": [*same[:3], (None, 10), same[4]],
        "Box.fits: `most - n` with another operator": ["refused", (10, 0), (11, 1), (20, 10), (None, 11)],
    }


def test_what_is_judged_exists_and_has_a_reason() -> None:
    """A judgement is about one mutant. When the code changes, it is made again."""
    tasks = tasks_of_all_cores()
    judged = tomllib.loads(JUDGED.read_text(encoding="utf-8"))
    assert not set(judged) - {task.name for task in tasks}
    assert all(len(reason) > 20 for reason in judged.values())
    assert len({task.name for task in tasks}) == len(tasks)
    assert all((ROOT / path).is_file() for paths in CORES.values() for path in paths)
    assert [task.core for task in sampled(tasks, 2, 0)] == [core for core in CORES for _ in range(2)]
