"""The rules of conditional changes, when all clients write the same.

Source: pravega.md A11, A13; reader-groups.md C1.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..history import History

Condition = tuple[str, int]


def conditions_are_met_once(history: History) -> list[str]:
    """At most one of the changes under one condition is reported as a success."""
    problems, claimed = [], dict[Condition, str]()
    for who, condition, outcome in _claims(history):
        if outcome != "claimed":
            continue
        if condition in claimed:
            problems.append(f"{who} and {claimed[condition]} were both told that they met {condition}")
        claimed[condition] = who
    return problems


def refusals_are_true(history: History) -> list[str]:
    """A change that was reported as refused did not happen.

    A condition that does not hold any more was met by some client. Not all of them can have been refused.
    """
    outcomes: dict[Condition, set[str | None]] = {}
    for _, condition, outcome in _claims(history):
        outcomes.setdefault(condition, set()).add(outcome)
    return [
        f"{condition} was met, and every client that tried was refused"
        for condition, found in outcomes.items()
        if found == {"claim-refused"}
    ]


def _claims(history: History) -> Iterator[tuple[str, Condition, str | None]]:
    """Yield each change: who made it, its condition, and what the client said, None if it never answered."""
    ends = ("claimed", "claim-refused", "claim-unknown")
    outcomes = {(entry.who, entry.about["n"]): entry.what for entry in history.journal.of(*ends)}
    for entry in history.journal.of("claim"):
        condition = (entry.about["place"], entry.about["condition"])
        yield entry.who, condition, outcomes.get((entry.who, entry.about["n"]))
