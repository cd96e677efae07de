"""The scripts by name. Each is run on both engines and says the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.conformance.flink.world import Lab

Case = Callable[[Lab], Awaitable[list[str]]]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function  # type: ignore[attr-defined]
    return function
