"""When a failed job restarts, and when it gives up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass


class RestartStrategy(ABC):
    """Asked at every failure. Keeps what it has to remember; one for each job."""

    @abstractmethod
    def delay_ms(self, now_ms: int) -> int | None:
        """How long to wait before the restart; None: the job fails."""

    @abstractmethod
    def fresh(self) -> RestartStrategy:
        """The same, with nothing to remember yet."""


class NoRestart(RestartStrategy):
    """The first failure is the end."""

    def delay_ms(self, now_ms: int) -> int | None:
        return None

    def fresh(self) -> RestartStrategy:
        return NoRestart()


@dataclass
class FixedDelay(RestartStrategy):
    """So many restarts, each after the same time."""

    attempts: int = 2**31 - 1
    wait_ms: int = 1000
    used: int = 0

    def delay_ms(self, now_ms: int) -> int | None:
        self.used += 1
        return self.wait_ms if self.used <= self.attempts else None

    def fresh(self) -> RestartStrategy:
        return FixedDelay(self.attempts, self.wait_ms)


@dataclass
class ExponentialDelay(RestartStrategy):
    """Each restart waits longer; after ``reset_after_ms`` without failure it begins anew."""

    first_ms: int = 1000
    most_ms: int = 60_000
    factor: float = 1.5
    reset_after_ms: int = 3_600_000
    wait_ms: float = 0
    last_ms: int | None = None

    def delay_ms(self, now_ms: int) -> int | None:
        is_new = self.last_ms is None or now_ms - self.last_ms - self.wait_ms >= self.reset_after_ms
        self.wait_ms = self.first_ms if is_new else min(self.wait_ms * self.factor, self.most_ms)
        self.last_ms = now_ms
        return int(self.wait_ms)

    def fresh(self) -> RestartStrategy:
        return ExponentialDelay(self.first_ms, self.most_ms, self.factor, self.reset_after_ms)


class FailureRate(RestartStrategy):
    """At most so many failures within a time."""

    def __init__(self, failures: int, within_ms: int, wait_ms: int = 1000) -> None:
        self._failures, self._within_ms, self._wait_ms = failures, within_ms, wait_ms
        self._times: deque[int] = deque()

    def delay_ms(self, now_ms: int) -> int | None:
        self._times.append(now_ms)
        while self._times[0] < now_ms - self._within_ms:
            self._times.popleft()
        return self._wait_ms if len(self._times) <= self._failures else None

    def fresh(self) -> RestartStrategy:
        return FailureRate(self._failures, self._within_ms, self._wait_ms)
