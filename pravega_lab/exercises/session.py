"""What this process remembers of a learner: wrong answers and predictions. Nothing is written anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pravega_lab.exercises.predictions import Prediction

wrong_answers: dict[str, int] = {}
predictions: dict[str, Prediction] = {}
