"""`rule_of`: which rule a problem of a run says was violated."""

from __future__ import annotations

import re

from ..kernel.run import Result

RULE_MAX = 60
SIZE = "size of the run"  # not what a run is about: a smaller run violates it, too
_EXCEPTION = re.compile(r"^(AssertionError|SimulationError): (?=.)")
_OPERATIONS = re.compile(r"^\[.*\] (was taken|was refused|gave) .*", re.DOTALL)
_VARYING = re.compile(r"\d+|'[^']*'|b'[^']*'")


def rule_of(problem: str) -> str:
    """Return the rule that a problem names, with ``#`` in place of what differs from run to run.

    By convention a problem begins with the rule and a colon. The model of the storage has no rules: there the
    rule is what was compared.
    """
    lines = _EXCEPTION.sub("", problem).splitlines() or [""]
    found = _OPERATIONS.match(problem)
    if found:
        return f"submissions: {found[1]}"
    head, colon, rest = lines[0].partition(": ")
    if head == "the store is sound":  # its rules are those of `admin verify`
        head = f"{head}: {rest.partition(': ')[0]}"
    return _VARYING.sub("#", head if colon and len(head) <= RULE_MAX else lines[0])[:RULE_MAX].strip()


def rules_of(result: Result) -> tuple[str, ...]:
    """Return the rules that a run violated, in the order in which they were found."""
    return tuple(dict.fromkeys(rule_of(problem) for problem in result.problems))


def main_rule(result: Result, checker: str = "") -> str | None:
    """Return the rule to explain: the one that ``checker`` begins, else the first; None if all were kept."""
    rules = [rule for rule in rules_of(result) if rule != SIZE]
    wanted = [rule_of(p) for p in result.problems if checker and p.startswith(checker)]
    return next(iter([*wanted, *rules]), None)
