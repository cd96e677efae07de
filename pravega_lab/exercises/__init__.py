"""What the tutorials ask of a learner: predictions before a run, exercises at the end, and a fresh start.

In a notebook: ``from pravega_lab.exercises import check, predict, reset``. A tutorial's exercises stand in a
module of its number (`tutorial_02`, …); whatever lies there is found by itself.
"""

from pravega_lab.exercises.checking import Verdict, check
from pravega_lab.exercises.predictions import Prediction, predict
from pravega_lab.exercises.starting_over import reset

__all__ = ["Prediction", "Verdict", "check", "predict", "reset"]
