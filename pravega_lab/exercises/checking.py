"""`check`: says whether an answer is right, helps a little more with each wrong one, and then solves it."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Any

from pravega_lab.exercises.book import Exercise, find, unseal
from pravega_lab.exercises.session import wrong_answers

WIDTH = 100


@dataclass(frozen=True)
class Verdict:
    """What `check` found. True if the answer is right; shows itself in words."""

    is_right: bool
    words: str

    def __bool__(self) -> bool:
        return self.is_right

    def __repr__(self) -> str:
        return self.words


def check(exercise: str, answer: Any = ...) -> Verdict:
    """Check an answer to an exercise of a tutorial.

    The first wrong answer gets a hint, the second another one, the third and later ones the solution. Without
    an answer (``...``) the question is repeated; that, and what can be no answer, is not counted.

    Args:
        exercise: Tutorial and number, ``"03.1"``.
        answer: What kind of answer is wanted, the question says.

    Raises:
        BadInputError: There is no such exercise; the message names the nearest.
    """
    asked = find(exercise)
    wanted = asked.read.__doc__
    if answer is ...:
        return _verdict(asked, False, f"{asked.asks} Put your answer, {wanted}, in place of the dots.")
    try:
        found = asked.digest(answer)
    except (ValueError, TypeError, OverflowError):
        return _verdict(asked, False, f"{_short(answer)} can be no answer: {wanted} is wanted. Not counted.")
    if found == asked.right:
        return _verdict(asked, True, f"right. {unseal(asked.solution)}")
    return _wrong(asked, answer, asked.remarks.get(found, ""))


def _wrong(asked: Exercise, answer: Any, remark: str) -> Verdict:
    n = wrong_answers[asked.number] = wrong_answers.get(asked.number, 0) + 1
    if n <= len(asked.hints):
        name = "Hint" if n == 1 else "Another hint"
        help_ = f"{name}: {asked.hints[n - 1]}"
    else:
        help_ = f"The solution: {unseal(asked.solution)}"
    parts = (f"{_short(answer)} is not right.", remark, help_)
    return _verdict(asked, False, " ".join(part for part in parts if part))


def _verdict(asked: Exercise, is_right: bool, words: str) -> Verdict:
    return Verdict(is_right, fill(f"{asked.number}: {words}", WIDTH))


def _short(answer: Any) -> str:
    text = repr(answer)
    return text if len(text) <= 60 else f"{text[:59]}…"
