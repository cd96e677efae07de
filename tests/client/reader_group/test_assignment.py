"""Shares are fair after one checkpoint, in whatever order the readers release and acquire."""

from __future__ import annotations

from itertools import permutations, product
from types import SimpleNamespace
from typing import Any

import pytest

from pravega_lab.client.reader_group.core.assignment import n_missing


def state_of(held: list[int], n_free: int) -> Any:
    """Return what the rule looks at: how many segments each reader holds, and all segments."""
    assigned = {f"r{n}": range(count) for n, count in enumerate(held)}
    return SimpleNamespace(assigned=assigned, n_segments=sum(held) + n_free)


def after_a_checkpoint(held: list[int], order: tuple[int, ...]) -> tuple[list[int], int]:
    """Let readers release in this order, and acquire in its reverse. Return what they hold, and the rest."""
    held, n_free = list(held), 0
    for reader in order:
        surplus = max(0, -n_missing(state_of(held, n_free), f"r{reader}"))
        held[reader], n_free = held[reader] - surplus, n_free + surplus
    for reader in reversed(order):
        taken = min(n_free, max(0, n_missing(state_of(held, n_free), f"r{reader}")))
        held[reader], n_free = held[reader] + taken, n_free - taken
    return held, n_free


@pytest.mark.parametrize("n_readers", [1, 2, 3])
def test_a_new_reader_has_its_share_after_one_checkpoint(n_readers: int) -> None:
    for held in product(range(7), repeat=n_readers):
        for order in permutations(range(n_readers + 1)):
            after, n_free = after_a_checkpoint([*held, 0], order)
            assert n_free == 0, (held, order)
            assert max(after) - min(after) <= 1, (held, order, after)


def test_the_first_to_release_keeps_the_larger_share() -> None:
    """The other one used to keep it too, because it still held more, and the new reader lacked a segment."""
    assert after_a_checkpoint([5, 5, 0], (0, 1, 2)) == ([4, 3, 3], 0)
