"""`check` says whether an answer is right. It helps more with each wrong answer, and finally solves it."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Any

from pravega_lab.tutorials.learning.answer_forms import text_of
from pravega_lab.tutorials.learning.book import Exercise, find, unseal

WIDTH = 100

#: How many wrong answers this process has seen, by exercise. They are never written to a file.
wrong_answers: dict[str, int] = {}


@dataclass(frozen=True)
class Verdict:
    """The result of `check`. It is true if the answer is right, and shows itself in words."""

    is_right: bool
    words: str

    def __bool__(self) -> bool:
        return self.is_right

    def __repr__(self) -> str:
        return self.words


def check(exercise: str | Exercise, answer: Any = ...) -> Verdict:
    """Check an answer to an exercise.

    The first wrong answer gets a hint, the second another one, the third and later ones the solution. Without
    an answer (``...``) the question is repeated. Neither that nor an impossible answer is counted.

    Args:
        exercise: Tutorial and number, ``"03.1"`` or ``"3.1"``; or an exercise of your own lesson, which
            `exercise` makes.
        answer: The answer; the question says of which kind.

    Raises:
        BadInputError: There is no such exercise; the message names the nearest.
    """
    asked = exercise if isinstance(exercise, Exercise) else find(exercise)
    wanted = asked.read.__doc__
    if answer is ...:
        return _verdict(asked, False, f"{asked.asks} Put your answer, {wanted}, in place of the dots.")
    try:
        found = asked.digest(answer)
    except Exception:  # an answer can be any value, and its own comparison can raise anything
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
    text = text_of(answer)
    return text if len(text) <= 60 else f"{text[:59]}…"
