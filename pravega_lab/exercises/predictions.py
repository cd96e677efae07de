"""`predict`: a prediction before a run, and what became of it after. Nothing waits for input: a notebook runs
through with or without predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.exercises.session import predictions

_CLOSE = 0.1


@dataclass(frozen=True)
class Prediction:
    """What a learner expects. Shows itself in words; `compare` says what became of it."""

    question: str
    answer: Any = ...
    among: tuple[Any, ...] = ()

    def compare(self, actual: Any) -> None:
        """Print the prediction beside what happened."""
        print(f"Your prediction: {self._beside(actual)}" if self.is_made else f"{_it_is(actual)}.")

    @property
    def is_made(self) -> bool:
        return self.answer is not ...

    def _beside(self, actual: Any) -> str:
        if self.answer == actual:
            return f"{self.answer}. So it is."
        if _are_numbers(self.answer, actual) and abs(self.answer - actual) <= _CLOSE * abs(actual):
            return f"{self.answer}. {_it_is(actual)}: close."
        return f"{self.answer}. {_it_is(actual)}."

    def __repr__(self) -> str:
        choices = f" ({' / '.join(map(str, self.among))})" if self.among else ""
        if self.is_made:
            return f"{self.question}{choices}\nYou say: {self.answer}. Now run on."
        return f"{self.question}{choices}\nPut your prediction in place of the dots, then run on."


def predict(question: str, answer: Any = ..., *, among: Sequence[Any] = ()) -> Prediction:
    """Ask for a prediction; without one (``...``) the notebook runs on all the same.

    Args:
        question: In words.
        answer: What the learner puts in place of ``...``.
        among: The answers there are, where it is a choice.

    Raises:
        BadInputError: The answer is none of the choices; the message names the nearest.
    """
    if answer is not ... and among and answer not in among:
        near = get_close_matches(str(answer), [str(one) for one in among], 1, 0.3)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise BadInputError(
            f"{answer!r} is none of the choices; {hint}There are {', '.join(map(repr, among))}."
        )
    prediction = Prediction(question, answer, tuple(among))
    predictions[question] = prediction
    return prediction


def _it_is(actual: Any) -> str:
    """A choice can be a sentence of its own, so it stands behind a colon."""
    return f"The answer: {actual}" if isinstance(actual, str) else f"It is {actual}"


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, Real) and not isinstance(value, bool) for value in values)
