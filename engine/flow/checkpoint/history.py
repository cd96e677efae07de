"""Earlier behaviour of Flink that can be switched on, for tutorials and for the simulation.

`History` names the variants; each names the ticket or the proposal that replaced it. The defaults are the
present behaviour. `end_rules` here and `trigger_order.trigger_order` translate a variant into rules, and the
parts of a job ask for their rules once, when they are constructed. Facts: flink.md 4.3, 6, 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Finishing(Enum):
    """How a bounded job ends."""

    #: All data ends first. Then every task waits for one final checkpoint.
    FLIP_147 = "FLIP-147"
    #: Option 1 of the proposal: a final checkpoint for each task in turn.
    WAIT_IN_EACH_TASK = "wait in each task"
    #: There is no checkpoint after a task has finished, and no task waits for one.
    BEFORE_FLIP_147 = "before FLIP-147"


class LastPiece(Enum):
    """What a two-phase sink does with its open transaction when it ends before FLIP-147."""

    #: Its records are lost.
    DISCARDED = "discarded"
    #: Its records are duplicated if the job fails over afterwards.
    COMMITTED = "committed"


class Triggering(Enum):
    """How the coordinator's steps exclude each other (FLINK-18641)."""

    #: Until 1.10, the coordinator waited for hooks under the lock that acknowledgements need.
    LOCK = "lock"
    #: Hooks and coordinators at once; complete when all *tasks* have acknowledged.
    MAILBOX_1_11_0 = "mailbox, 1.11.0"
    #: The present order, in which FLINK-18641 is fixed.
    FIXED = "fixed"


@dataclass(frozen=True)
class History:
    """The behaviour of one job.

    ``drain_before_flip_147``: stop-with-savepoint --drain takes the savepoint before the operators finish.
    ``rendezvous``: an externally induced reader waits for kind and target of its checkpoint (FLINK-25256).
    ``reset_hooks_in_regions``: regional recovery resets hooks too (FLINK-20222 lost this, FLINK-21178
    restored it).
    """

    finishing: Finishing = Finishing.FLIP_147
    last_piece: LastPiece = LastPiece.DISCARDED
    drain_before_flip_147: bool = False
    triggering: Triggering = Triggering.FIXED
    rendezvous: bool = True
    reset_hooks_in_regions: bool = True


@dataclass(frozen=True)
class EndRules:
    """The rules that the subtasks of one job follow. `JobConfig.end_rules` chooses them once.

    ``checkpoints_after_finish``: checkpoints continue after some tasks have finished, and every subtask waits
    for a final one. ``sends_end_of_data``: a subtask tells its consumers that the data has ended before it
    waits. ``commits_at_close``: a two-phase sink commits what it has when it closes.
    ``finishes_after_savepoint``: stop-with-savepoint --drain finishes operators after its savepoint.
    ``ends_with_savepoint``: every subtask of a job that stops ends with the savepoint. Otherwise each waits
    for the first checkpoint after its own data, as at any other end. For a source that is the savepoint.
    ``meets_triggers``: an externally induced reader waits for kind and target of its checkpoint.
    """

    checkpoints_after_finish: bool
    sends_end_of_data: bool
    commits_at_close: bool
    finishes_after_savepoint: bool
    ends_with_savepoint: bool
    meets_triggers: bool


def end_rules(history: History) -> EndRules:
    """Return the rules that follow from an earlier or the present behaviour of Flink."""
    is_old = history.finishing is Finishing.BEFORE_FLIP_147
    return EndRules(
        checkpoints_after_finish=not is_old,
        sends_end_of_data=history.finishing is Finishing.FLIP_147,
        commits_at_close=is_old and history.last_piece is LastPiece.COMMITTED,
        finishes_after_savepoint=history.drain_before_flip_147,
        ends_with_savepoint=history.finishing is not Finishing.WAIT_IN_EACH_TASK,
        meets_triggers=history.rendezvous,
    )
