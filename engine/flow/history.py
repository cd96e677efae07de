"""How it was before: switches that bring back what was mended, for lessons and for the simulation.

Each names the ticket or the proposal after which it was no longer so. The defaults are as it is now.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Finishing(Enum):
    """How a bounded job comes to its end."""

    FLIP_147 = "FLIP-147"  # end of data first, then all wait for one final checkpoint
    WAIT_IN_EACH_TASK = (
        "wait in each task"  # option 1 of the proposal: a final checkpoint for each task in turn
    )
    BEFORE_FLIP_147 = "before FLIP-147"  # no checkpoint once a task has finished; nobody waits


class LastPiece(Enum):
    """What a two-phase sink does with its open transaction when it ends before FLIP-147."""

    DISCARDED = "discarded"  # lost
    COMMITTED = "committed"  # doubled if the job fails over afterwards


class Triggering(Enum):
    """How the coordinator's steps exclude each other (FLINK-18641)."""

    LOCK = "lock"  # until 1.10: hooks are waited for under the lock that acknowledgements need
    MAILBOX_1_11_0 = (
        "mailbox, 1.11.0"  # hooks and coordinators at once; complete when all *tasks* have acknowledged
    )
    MENDED = "mended"


@dataclass(frozen=True)
class History:
    """``drain_before_flip_147``: stop-with-savepoint --drain takes the savepoint first and finishes then.
    ``rendezvous``: an externally induced reader waits for kind and target of its checkpoint (FLINK-25256).
    ``reset_hooks_in_regions``: hooks are reset in regional recovery too (FLINK-20222 lost it, FLINK-21178
    mended).
    """

    finishing: Finishing = Finishing.FLIP_147
    last_piece: LastPiece = LastPiece.DISCARDED
    drain_before_flip_147: bool = False
    triggering: Triggering = Triggering.MENDED
    rendezvous: bool = True
    reset_hooks_in_regions: bool = True
