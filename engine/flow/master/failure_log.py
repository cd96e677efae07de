"""Log the failures of a job and its restarts, so that a job that can never work does not fail in silence.

A job restarts without end by default. The traceback of each failure is logged once. A job that fails again
and again has a line for a restart every ten seconds. So have checkpoints whose failures the job tolerates.
"""

from __future__ import annotations

import logging

from ..cancelling import message_of

PERIOD_MS = 10_000
KNOWN_MAX = 100
_log = logging.getLogger(__name__)


class FailureLog:
    """Counts the restarts of one job, and decides which restarts and failed checkpoints are logged."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._restarts = 0
        self._known: set[tuple[type[BaseException], object, int]] = set()  # see `_kind_of`
        self._next_ms: int | None = None
        self._next_checkpoint_ms: int | None = None

    def restart(self, what: str, error: BaseException, delay_ms: int, now_ms: int) -> None:
        """Note that ``what`` failed with ``error``, and that it restarts in ``delay_ms``."""
        self._restarts += 1
        kind = _kind_of(error)
        is_new = kind not in self._known and len(self._known) < KNOWN_MAX
        if not is_new and self._next_ms is not None and now_ms < self._next_ms:
            return
        self._known.add(kind)
        self._next_ms = now_ms + PERIOD_MS
        _log.warning(
            "job %r: %s failed, and restarts in %d ms (restart %d): %s",
            self._job,
            what,
            delay_ms,
            self._restarts,
            message_of(error),
            exc_info=error if is_new else None,
        )

    def checkpoint(self, in_a_row: int, error: BaseException, now_ms: int) -> None:
        """Note that a checkpoint failed with ``error``, the last of so many in a row, and that the job
        tolerates it.
        """
        if self._next_checkpoint_ms is not None and now_ms < self._next_checkpoint_ms:
            return
        self._next_checkpoint_ms = now_ms + PERIOD_MS
        _log.warning(
            "job %r: a checkpoint failed, and the job continues (%d failed in a row): %s",
            self._job,
            in_a_row,
            message_of(error),
        )


def _kind_of(error: BaseException) -> tuple[type[BaseException], object, int]:
    """Return the class of the first cause of ``error``, and the place in the code that raised it."""
    while error.__cause__ is not None:
        error = error.__cause__
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return (type(error), None, 0) if at is None else (type(error), at.tb_frame.f_code, at.tb_lineno)
