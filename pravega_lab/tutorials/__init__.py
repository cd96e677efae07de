"""What the notebooks share: predictions before a run, exercises at the end, a fresh start, and their jobs.

In a notebook: ``from pravega_lab.tutorials import check, predict, reset``. The exercises of each tutorial are
in a module of `tutorials.questions`, and `exercise` makes one for a lesson of your own. Notebooks, the
command `simulate` and tests import this package; it may import everything below it. The folder `play` is the
page on which the simulation runs in a browser.

A cell that fails after another one ran again gets a hint (`learning.reruns`).

Jobs of the tutorials fail on purpose, and views show it. Where logging is not set up, their failures are
therefore not written to standard error, which a notebook shows in red.
"""

import logging

from pravega_lab.tutorials.learning.checking import Verdict, check
from pravega_lab.tutorials.learning.own_exercises import exercise
from pravega_lab.tutorials.learning.predictions import Prediction, predict
from pravega_lab.tutorials.learning.reruns import watch_cells
from pravega_lab.tutorials.learning.reset import reset

__all__ = ["Prediction", "Verdict", "check", "exercise", "predict", "reset"]

logging.getLogger("pravega_lab.engine.flow.master.failure_log").addHandler(logging.NullHandler())
watch_cells()
