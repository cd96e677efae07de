"""What the notebooks share: predictions before a run, exercises at the end, a fresh start, and their jobs.

In a notebook: ``from pravega_lab.tutorials import check, predict, reset``. The exercises of each tutorial are
in a module of `tutorials.questions`, and `exercise` makes one for a lesson of your own. Notebooks, the
command `simulate` and tests import this package; it may import everything below it. The folder `play` is the
page on which the simulation runs in a browser.
"""

from pravega_lab.tutorials.learning.checking import Verdict, check
from pravega_lab.tutorials.learning.own_exercises import exercise
from pravega_lab.tutorials.learning.predictions import Prediction, predict
from pravega_lab.tutorials.learning.reset import reset

__all__ = ["Prediction", "Verdict", "check", "exercise", "predict", "reset"]
