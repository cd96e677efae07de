"""Decide when a failed job restarts, and when it gives up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass


class RestartStrategy(ABC):
    """Decides at every failure. It counts, so each job needs its own."""

    @abstractmethod
    def delay_ms(self, now_ms: int) -> int | None:
        """Count a failure; return how long to wait before the restart, None if the job has to fail."""

    @abstractmethod
    def fresh(self) -> RestartStrategy:
        """Return the same strategy with nothing counted."""


class NoRestart(RestartStrategy):
    """Gives up at the first failure."""

    def delay_ms(self, now_ms: int) -> int | None:
        """Return None: the job fails."""
        return None

    def fresh(self) -> RestartStrategy:
        """Return another one."""
        return NoRestart()


@dataclass
class FixedDelay(RestartStrategy):
    """Restarts ``attempts`` times, each time after ``wait_ms``."""

    attempts: int = 2**31 - 1
    wait_ms: int = 1000
    used: int = 0

    def delay_ms(self, now_ms: int) -> int | None:
        """Return ``wait_ms``, None once ``attempts`` restarts are used."""
        self.used += 1
        return self.wait_ms if self.used <= self.attempts else None

    def fresh(self) -> RestartStrategy:
        """Return the same strategy with no restart used."""
        return FixedDelay(self.attempts, self.wait_ms)


@dataclass
class ExponentialDelay(RestartStrategy):
    """Restarts without end, and waits longer each time.

    The delay begins with ``first_ms``, grows by ``factor`` up to ``most_ms``, and begins again after
    ``reset_after_ms`` without a failure.
    """

    first_ms: int = 1000
    most_ms: int = 60_000
    factor: float = 1.5
    reset_after_ms: int = 3_600_000
    wait_ms: float = 0
    last_ms: int | None = None

    def delay_ms(self, now_ms: int) -> int | None:
        """Return the next delay."""
        is_new = self.last_ms is None or now_ms - self.last_ms - self.wait_ms >= self.reset_after_ms
        self.wait_ms = self.first_ms if is_new else min(self.wait_ms * self.factor, self.most_ms)
        self.last_ms = now_ms
        return int(self.wait_ms)

    def fresh(self) -> RestartStrategy:
        """Return the same strategy before its first failure."""
        return ExponentialDelay(self.first_ms, self.most_ms, self.factor, self.reset_after_ms)


class FailureRate(RestartStrategy):
    """Restarts after ``wait_ms`` unless there were more than ``failures`` failures within ``within_ms``."""

    def __init__(self, failures: int, within_ms: int, wait_ms: int = 1000) -> None:
        self._failures, self._within_ms, self._wait_ms = failures, within_ms, wait_ms
        self._times: deque[int] = deque()

    def delay_ms(self, now_ms: int) -> int | None:
        """Return ``wait_ms``, None if there were too many failures lately."""
        self._times.append(now_ms)
        while self._times[0] < now_ms - self._within_ms:
            self._times.popleft()
        return self._wait_ms if len(self._times) <= self._failures else None

    def fresh(self) -> RestartStrategy:
        """Return the same strategy before its first failure."""
        return FailureRate(self._failures, self._within_ms, self._wait_ms)
