"""`workers`: processes that run seeds.

They work without numpy and pyarrow unless asked otherwise. Runs have batches of a few rows, which plain lists
handle faster, and the journals are the same (`tests/engine/simulation/test_everywhere.py`).
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.pool import Pool
from typing import TypeVar

from pravega_lab.portable import ARRAYS_VARIABLE
from pravega_lab.portable.leaving import on_sigterm

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def workers(jobs: int, *, arrays: bool = False) -> Iterator[Pool]:
    """Return a pool of so many processes. With ``arrays`` they use numpy and pyarrow where these are
    installed.
    """
    before = os.environ.get(ARRAYS_VARIABLE)
    try:
        if not arrays:
            os.environ[ARRAYS_VARIABLE] = "off"
        # Spawn processes: a fork of this process would inherit its threads.
        pool = multiprocessing.get_context("spawn").Pool(jobs, initializer=_begin)
    finally:
        if before is None:
            os.environ.pop(ARRAYS_VARIABLE, None)
        else:
            os.environ[ARRAYS_VARIABLE] = before
    # As on Ctrl-C, SIGTERM ends the pool. A process that just dies leaves semaphores, with a warning.
    with pool, on_sigterm(lambda number, _: sys.exit(128 + number)):
        yield pool


def results_of(
    work: Callable[[T], R], tasks: Sequence[T], jobs: int, needs_arrays: Callable[[T], bool]
) -> Iterator[R]:
    """Do work in so many processes, and yield its results as they come: first of tasks without arrays."""
    for arrays in (False, True):
        of_kind = [task for task in tasks if needs_arrays(task) is arrays]
        if of_kind:
            with workers(jobs, arrays=arrays) as pool:
                yield from pool.imap_unordered(work, of_kind, 1)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and the pool ends its own
    quiet()


def quiet() -> None:
    """Ignore what is said of coroutines and tasks of runs that ended early: they are incomplete by design.

    Only what no handler takes is dropped. An error that the program logs in a run stays one of its problems.
    """
    logging.lastResort = logging.NullHandler()
    warnings.simplefilter("ignore", RuntimeWarning)
    sys.unraisablehook = lambda _: None
