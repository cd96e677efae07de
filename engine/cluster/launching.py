"""Who starts workers: a barrier job of Spark (`spark`), or processes of this machine (`processes`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pravega_lab.engine.cluster.placement import WorkerSpec


class Launched(Protocol):
    """The workers of one epoch."""

    async def stop(self) -> None:
        """They have been told to end, or are lost: wait a little, then end what is left by force."""


class Launcher(Protocol):
    """Starts all workers of an epoch together."""

    def default_host(self) -> str:
        """An address of this machine that workers reach."""

    def slots(self) -> int:
        """How many workers there can be at a time, as things are now."""

    def may_grow(self) -> bool:
        """Can there be more slots later?"""

    def launch(self, spec: WorkerSpec, on_end: Callable[[str], None]) -> Launched:
        """``on_end`` may be called from any thread, with the reason, when the workers will not come or are
        gone. Each runs ``worker.run_worker(spec, index)``."""
