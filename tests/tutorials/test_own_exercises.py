"""`exercise`: a lesson of your own has exercises that `check` takes like those of the tutorials."""

from __future__ import annotations

from typing import Any

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.tutorials import check, exercise

HINTS = ("Look again.", "Look at the tail.")


@pytest.mark.parametrize(
    ("answer", "also_right", "wrong", "impossible"),
    [
        (6, "6", 5, "six"),
        ("bob", " Bob ", "ann", 6),
        ([4, 5], (5, "4"), [4], "4"),
        (["a", "b"], {"B": 1, "a": 2}, ["a"], [1]),
    ],
    ids=["number", "text", "numbers", "texts"],
)
def test_the_right_answer_says_which_form_is_wanted(
    answer: Any, also_right: Any, wrong: Any, impossible: Any
) -> None:
    asked = exercise(f"own {answer}", "Which?", answer, hints=HINTS, solution="So.", remarks={})
    assert check(asked, answer)
    assert check(asked, also_right)
    assert "can be no answer" in check(asked, impossible).words
    assert "Hint: Look again." in check(asked, wrong).words
    assert str(answer) not in repr((asked.right, asked.solution))


def test_a_remark_comments_on_a_likely_mistake() -> None:
    asked = exercise("own.1", "How many?", 6, hints=HINTS, solution="So.", remarks={4: "These are gone."})
    assert "These are gone." in check(asked, 4).words
    assert "own.1: How many? Put your answer, a whole number" in check(asked).words


def test_what_can_be_no_exercise_is_refused() -> None:
    with pytest.raises(
        BadInputError, match=r"exercise own\.2: the right answer is 0\.5; give a whole number"
    ):
        exercise("own.2", "How much?", 0.5, hints=HINTS, solution="So.")
    with pytest.raises(BadInputError, match="the remark about 'six' can never be shown: a whole number is"):
        exercise("own.4", "How much?", 5, hints=HINTS, solution="So.", remarks={"six": "No."})
    with pytest.raises(BadInputError, match="give two hints"):
        exercise("own.3", "How much?", 5, hints=("one",), solution="So.")  # type: ignore[arg-type]
