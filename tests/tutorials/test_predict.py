"""`predict` and `reset`: a notebook runs through with and without predictions, and can be begun again."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pravega_lab import Lab
from pravega_lab.errors import BadInputError
from pravega_lab.tutorials import check, predict, reset
from pravega_lab.tutorials.learning.checking import wrong_answers
from pravega_lab.tutorials.learning.predictions import predictions


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    predictions.clear()
    wrong_answers.clear()
    yield
    predictions.clear()
    wrong_answers.clear()


@pytest.mark.parametrize(
    ("predicted", "said"),
    [
        (..., "It is 200.\n"),
        (200, "Your prediction: 200. So it is.\n"),
        (190, "Your prediction: 190. It is 200: close.\n"),
        (100, "Your prediction: 100. It is 200.\n"),
        ("many", "Your prediction: many. It is 200.\n"),
        ("200", "Your prediction: 200. So it is.\n"),
        ("0,190", "Your prediction: 0,190. It is 200: close.\n"),
    ],
)
def test_what_became_of_it(predicted: object, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    predict("How many?", predicted).compare(200)
    assert capsys.readouterr().out == said


def test_true_is_not_the_number_one(capsys: pytest.CaptureFixture[str]) -> None:
    predict("How many?", True).compare(1)
    predict("Is it so?", True).compare(True)
    assert capsys.readouterr().out == "Your prediction: True. It is 1.\nYour prediction: True. So it is.\n"


@pytest.mark.parametrize(
    ("predicted", "said"),
    [
        (np.array([4, 5]), "[4 5]. So it is."),
        ((4, 5), "(4, 5). So it is."),
        (pa.array([4, 5]), "[\n  4,\n  5\n]. So it is."),
        (np.array([4]), "[4]. It is [4, 5]."),
        (pd.NA, "<NA>. It is [4, 5]."),
        pytest.param(10**5000, "this int. It is [4, 5].", id="huge"),
    ],
)
def test_any_value_can_be_a_prediction(
    predicted: object, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = predict("Which?", predicted)
    assert said.split(".")[0] in repr(made)
    made.compare([4, 5])
    assert capsys.readouterr().out == f"Your prediction: {said}\n"
    with pytest.raises(BadInputError, match="is none of the choices"):
        predict("Which?", predicted, among=["yes", "no"])


def test_a_number_too_large_for_a_float_is_not_close(capsys: pytest.CaptureFixture[str]) -> None:
    predict("How long?", 10**400).compare(2.5)
    assert capsys.readouterr().out.endswith("0. It is 2.5.\n")


def test_an_answer_may_be_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    choices = ["it counts wrong", "it refuses"]
    predict("What does it do?", ..., among=choices).compare("it refuses")
    predict("And then?", "it counts wrong", among=choices).compare("it refuses")
    assert capsys.readouterr().out.splitlines() == [
        "The answer: it refuses.",
        "Your prediction: it counts wrong. The answer: it refuses.",
    ]


def test_asking_waits_for_nobody() -> None:
    open_ = predict("Will it hold?", ..., among=["yes", "no"])
    assert repr(open_) == ("Will it hold? (yes / no)\nPut your prediction in place of the dots, then run on.")
    assert not open_.is_made
    assert repr(predict("Will it hold?", "no", among=["yes", "no"])).endswith("You say: no. Now run on.")


def test_none_of_the_choices() -> None:
    with pytest.raises(BadInputError, match="did you mean 'yes'"):
        predict("Will it hold?", "yess", among=["yes", "no"])
    with pytest.raises(BadInputError, match=r"7 is none of the choices\. There are 'yes', 'no'\."):
        predict("Will it hold?", 7, among=["yes", "no"])


@pytest.mark.parametrize("answer", ["Yes", " yes ", np.str_("yes"), pa.scalar("yes")])
def test_a_choice_in_another_form(answer: object, capsys: pytest.CaptureFixture[str]) -> None:
    predict("Will it hold?", answer, among=["yes", "no"]).compare("yes")
    assert capsys.readouterr().out.endswith(". So it is.\n")


@pytest.mark.parametrize(("answer", "choice"), [(6, "6"), (np.int64(6), "6"), (None, "None")])
def test_a_choice_without_quotes(answer: object, choice: str, capsys: pytest.CaptureFixture[str]) -> None:
    predict("What fails?", answer, among=[choice, "another"]).compare(choice)
    assert capsys.readouterr().out == f"Your prediction: {choice}. So it is.\n"


def test_what_happened_is_one_of_the_choices() -> None:
    """Else nobody could have predicted it: the tutorial asks the wrong question."""
    for answer in (..., "ann"):
        with pytest.raises(BadInputError, match="'ann and bob' is none of the choices; did you mean 'bob'"):
            predict("Who waits?", answer, among=["ann", "bob"]).compare("ann and bob")


def test_reset_clears_up_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    lab, folder = Lab(), TemporaryDirectory()
    predict("How many?", 3)
    predict("And then?", ...)
    check("02.1", 3)
    reset(lab, folder)
    assert capsys.readouterr().out.splitlines() == [
        "Lab closed, and its store with it.",
        "Temporary folder removed.",
        "Forgotten: 1 prediction, 1 wrong answer.",
        "To begin again, run the notebook from the top.",
    ]
    assert lab.store is not None
    assert not lab.store.alive
    assert (predictions, wrong_answers) == ({}, {})
    reset(lab)  # a cell may be run twice
    assert "Forgotten: 0 predictions, 0 wrong answers." in capsys.readouterr().out


def test_reset_leaves_a_store_that_was_joined(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    lab = Lab(uri=store)
    reset(lab)
    assert f"the store at {store} was joined and continues" in capsys.readouterr().out


def test_reset_of_what_cannot_be_closed_does_nothing() -> None:
    lab = Lab()
    with pytest.raises(BadInputError, match="int has no close"):
        reset(lab, 7)
    assert lab.store is not None
    assert lab.store.alive
    lab.close()
