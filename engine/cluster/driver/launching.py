"""The interface of what starts workers: a barrier job of Spark (`spark`), or processes of this machine
(`processes`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .placement import WorkerSpec


class Launched(Protocol):
    """Hold the workers of one epoch."""

    async def stop(self) -> None:
        """Wait a little for the workers, which are to end or are lost, and then kill the rest."""


class Launcher(Protocol):
    """Start all workers of an epoch together.

    ``few`` ends the message that there can never be enough slots, and ``late`` the message that workers did
    not connect in time. They say what may help.
    """

    few: str
    late: str

    def default_host(self) -> str:
        """Return an address of this machine that workers can reach."""

    def slots(self) -> int:
        """Return how many workers can run at a time now."""

    def may_grow(self) -> bool:
        """Return whether there may be more slots later."""

    def launch(self, spec: WorkerSpec, on_end: Callable[[str], None]) -> Launched:
        """Start the workers, each of which runs ``worker.run_worker(spec, index)``.

        ``on_end(reason)`` may be called from any thread. It says that the workers will not connect, or have
        ended.
        """
