"""`exercise` makes an exercise of a lesson that somebody writes with the lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.tutorials.learning.answer_forms import (
    numbers_in_any_order,
    text_of,
    whole_number,
    word,
    words_in_any_order,
)
from pravega_lab.tutorials.learning.book import Exercise, digest, seal


def exercise(
    number: str,
    asks: str,
    answer: Any,
    *,
    hints: tuple[str, str],
    solution: str,
    remarks: Mapping[Any, str] | None = None,
) -> Exercise:
    """Return an exercise for `check`. Define it in a module beside the notebook, where no learner reads it.

    Args:
        number: The name of the exercise, such as ``"1.2"``.
        asks: The question.
        answer: The right answer: a whole number, a text, or a list of either. Learners may give a list in any
            order.
        hints: What `check` says after the first and after the second wrong answer.
        solution: What `check` says after a right answer and after the third wrong one.
        remarks: What `check` adds for likely wrong answers, by the answer.

    Raises:
        BadInputError: The answer is of no such kind, a remark is about an answer of another kind, or there
            are not two hints.

    Example:
        >>> from pravega_lab.tutorials import check, exercise
        >>> half = exercise("1.1", "Half of ten?", 5, hints=("Divide.", "By two."), solution="Five.")
        >>> check(half, 5)
        1.1: right. Five.
    """
    if isinstance(hints, str) or len(hints) != 2:
        raise BadInputError(f"exercise {number}: give two hints, not {hints!r}")
    read = _form_of(number, answer)
    return Exercise(
        number=number,
        asks=asks,
        read=read,
        right=digest(number, read(answer)),
        hints=hints,
        solution=seal(solution),
        remarks={
            digest(number, _read(read, number, wrong)): remark for wrong, remark in (remarks or {}).items()
        },
    )


def _read(read: Callable[[Any], str], number: str, wrong: Any) -> str:
    try:
        return read(wrong)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadInputError(
            f"exercise {number}: the remark about {text_of(wrong)} can never be shown: {read.__doc__} is "
            "wanted"
        ) from error


def _form_of(number: str, answer: Any) -> Callable[[Any], str]:
    """Return the first form that the right answer has."""
    texts = isinstance(answer, str)
    for form in (
        (word, words_in_any_order) if texts else (whole_number, words_in_any_order, numbers_in_any_order)
    ):
        try:
            form(answer)
        except (ValueError, TypeError, OverflowError):
            continue
        return form
    raise BadInputError(
        f"exercise {number}: the right answer is {text_of(answer)}; give a whole number, a text, or a list "
        "of either"
    )
