"""`predict` asks for a prediction before a run and compares it afterwards.

Predictions are optional: a notebook also runs from top to bottom without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.tutorials.learning.answer_forms import folded, plain, text_of

_CLOSE = 0.1


@dataclass(frozen=True)
class Prediction:
    """What a learner expects. It shows itself in words, and `compare` compares it with the result."""

    question: str
    answer: Any = ...
    among: tuple[Any, ...] = ()

    def compare(self, actual: Any) -> None:
        """Print the prediction beside what happened.

        Raises:
            BadInputError: What happened is none of the choices, so no prediction could have been right.
        """
        _check_among(actual, self.among)
        print(f"Your prediction: {self._beside(actual)}" if self.is_made else f"{_it_is(actual)}.")

    @property
    def is_made(self) -> bool:
        """Return whether the learner made a prediction."""
        return self.answer is not ...

    def _beside(self, actual: Any) -> str:
        said = text_of(self.answer, str)
        if _are_equal(self.answer, actual):
            return f"{said}. So it is."
        if _are_close(self.answer, actual):
            return f"{said}. {_it_is(actual)}: close."
        return f"{said}. {_it_is(actual)}."

    def __repr__(self) -> str:
        choices = f" ({' / '.join(map(str, self.among))})" if self.among else ""
        if self.is_made:
            return f"{self.question}{choices}\nYou say: {text_of(self.answer, str)}. Now run on."
        return f"{self.question}{choices}\nPut your prediction in place of the dots, then run on."


#: The predictions of this process, by question. They are never written to a file.
predictions: dict[str, Prediction] = {}


def predict(question: str, answer: Any = ..., *, among: Sequence[Any] = ()) -> Prediction:
    """Ask for a prediction; without one (``...``) the notebook continues all the same.

    Args:
        question: In words.
        answer: What the learner puts in place of ``...``.
        among: The possible answers, where it is a choice.

    Raises:
        BadInputError: The answer is none of the choices; the message names the nearest.
    """
    if answer is not ...:
        _check_among(answer, among)
    prediction = Prediction(question, answer, tuple(among))
    predictions[question] = prediction
    return prediction


def _check_among(answer: Any, among: Sequence[Any]) -> None:
    if among and not any(_are_equal(answer, one) for one in among):
        near = get_close_matches(text_of(answer, str), [str(one) for one in among], 1, 0.3)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise BadInputError(
            f"{text_of(answer)} is none of the choices{hint} There are {', '.join(map(repr, among))}."
        )


def _it_is(actual: Any) -> str:
    """Return the answer as a sentence. A choice can be a sentence of its own, so it follows a colon."""
    return f"The answer: {actual}" if isinstance(actual, str) else f"It is {actual}"


def _are_equal(answer: Any, actual: Any) -> bool:
    """Compare arrays and tuples as lists, and a text in small letters: ``6`` and ``"Yes "`` are the choices
    ``"6"`` and ``"yes"``. What cannot be compared, such as pandas' NA, is not equal.
    """
    answer, actual = _as_list(answer), _as_list(actual)
    if isinstance(actual, str):
        return folded(text_of(answer, str)) == folded(actual)
    answer = _number_of(answer, actual)
    if isinstance(answer, bool) and not isinstance(actual, bool):
        return False  # or True would be a right answer where the number is 1
    try:
        return bool(answer == actual)
    except Exception:
        return False


def _as_list(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else plain(value)
    return list(value) if isinstance(value, tuple) else value


def _number_of(answer: Any, actual: Any) -> Any:
    """Return the number of an answer such as ``"1,652"`` where a number is wanted, else the answer."""
    if not isinstance(answer, str) or not isinstance(actual, Real):
        return answer
    try:
        return float(answer.replace(",", ""))
    except ValueError:
        return answer


def _are_close(answer: Any, actual: Any) -> bool:
    answer = _number_of(answer, actual)
    if any(isinstance(value, bool) or not isinstance(value, Real) for value in (answer, actual)):
        return False
    try:
        return bool(abs(answer - actual) <= _CLOSE * abs(actual))
    except OverflowError:  # between a float and an int that no float can hold
        return False
