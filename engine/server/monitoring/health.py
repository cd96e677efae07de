"""Whether a store can do all that it promises, as ``/health`` reports it."""

from __future__ import annotations

from dataclasses import dataclass

from ...store.storage.storage import Storage
from ...store.tiers.mover import Mover
from ..segment_store import SegmentStore


@dataclass(frozen=True, slots=True)
class Health:
    """``status``: ready, degraded, failed. ``reasons`` says why it is not ready."""

    status: str
    reasons: tuple[str, ...]

    @property
    def http_status(self) -> int:
        """Return 200 for a store that is ready, else 503."""
        return 200 if self.status == "ready" else 503


def health_of(storage: Storage, store: SegmentStore, mover: Mover | None = None) -> Health:
    """Return the health of a store that serves.

    It is degraded while it refuses what would make it grow (``disk_full``), or does not read from some
    connections because the disk is slower than they are (``throttled``). With tier 2 it is also degraded
    while a step of moving has failed and is tried again or takes long (``tier2_failing``), and while appends
    wait because too many bytes are still in the log (``tier2_behind``).
    """
    if storage.has_failed:
        return Health("failed", ("write_failed",))
    signs = [("disk_full", storage.is_full), ("throttled", store.throttled_count)]
    if mover is not None:
        is_failing = mover.failures or mover.is_silent
        signs += [("tier2_failing", is_failing), ("tier2_behind", mover.is_behind)]
    reasons = [name for name, is_so in signs if is_so]
    return Health("degraded" if reasons else "ready", tuple(reasons))
