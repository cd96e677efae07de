"""`RecoveryReport`: what the opening of a store found."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..log.history import Cut


@dataclass(slots=True)
class RecoveryReport:
    """What recovery found: the snapshot's sequence, the number of replayed groups, and the tails that it
    cut.
    """

    snapshot_sequence: int = 0
    groups: int = 0
    cuts: list[Cut] = field(default_factory=list)
