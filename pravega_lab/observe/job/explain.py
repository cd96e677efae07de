"""`explain_job`: a job in sentences, from its journal: its state, what each checkpoint waits for, and
what is held up.
"""

from __future__ import annotations

from pravega_lab.observe.durations import span
from pravega_lab.observe.job.fold import JobHistory
from pravega_lab.observe.job.observations import split_task
from pravega_lab.observe.job.rows import ALIGNING, FAILED, WAITING, JobCheckpointRow, TaskPart
from pravega_lab.observe.job.words import channels_words
from pravega_lab.portable.words import LISTED_MAX, listed, plural

#: Why a checkpoint fails that the job tolerates, in the engine's words: those that count as one of
#: `CheckpointConfig.tolerable_failures`, and hooks that raise, which never fail the job.
REPORTED = {
    "CHECKPOINT_DECLINED",
    "CHECKPOINT_ASYNC_EXCEPTION",
    "CHECKPOINT_EXPIRED",
    "IO_EXCEPTION",
    "FINALIZE_CHECKPOINT_FAILURE",
    "TRIGGER_CHECKPOINT_FAILURE",
}
FULL = 0.9  # of a channel: from there on its producer waits


def explain_job(history: JobHistory, now_ms: int) -> list[str]:
    """Return sentences on the newest life of the job, at the end of the history."""
    reason = history.reason.strip().splitlines()[:1]
    why = f": {reason[0].rstrip('.')}" if reason else ""
    said = [f"Job {history.job} has been {history.state} for {span(now_ms - history.since_ms)}{why}."]
    said += _subtasks(history, now_ms)
    said += [_checkpoint(row, history, now_ms) for row in history.running()]
    said += _failed_in_a_row(history)
    said += _channels(history, now_ms)
    if history.state in ("running", "restarting", "failing", "created"):
        said.append(_back_to(history, now_ms))
    return said


def _subtasks(history: JobHistory, now_ms: int) -> list[str]:
    mine = [task for task in history.tasks if task.vertex.life == history.life]
    counts: dict[str, int] = {}
    for task in mine:
        counts[task.state] = counts.get(task.state, 0) + 1
    said = ["Subtasks: " + ", ".join(f"{n} {state}" for state, n in counts.items()) + "."] if mine else []
    for task in [task for task in mine if task.state == FAILED][:LISTED_MAX]:
        first = task.reason.strip().splitlines()[:1]
        said.append(
            f"{task.label} failed {span(now_ms - task.since_ms)} ago"
            + (f": {first[0].rstrip('.')}." if first else ".")
        )
    waiting = [task.label for task in mine if task.state == WAITING]
    if waiting:
        said.append(f"Done with all data, waiting for the final checkpoint: {listed(waiting)}.")
    return said


def _checkpoint(row: JobCheckpointRow, history: JobHistory, now_ms: int) -> str:
    asks = [ask for ask in row.asks.values() if ask.acknowledged_ms is None]
    waits = [f"{'master hook' if ask.is_hook else 'coordinator'} {history.operator(ask.who)}" for ask in asks]
    parts = list(row.waiting())
    if not asks:
        waits = [_owes(part, history) for part in parts[:LISTED_MAX]] + [""] * max(0, len(parts) - LISTED_MAX)
    whom = listed(waits) if waits else "its metadata to be written"
    return f"{row.kind.capitalize()} {row.checkpoint_id} has waited {span(now_ms - row.start_ms)} for {whom}."


def _failed_in_a_row(history: JobHistory) -> list[str]:
    """Return a sentence on the failures that the job tolerates: a failure too many restarts or ends it."""
    mine = [row for row in history.checkpoints if row.life == history.life and row.end_ms is not None]
    since_ms = max(
        [row.end_ms or 0 for row in mine if row.state == "completed"]
        + [restored.time_ms for restored in history.restores if restored.life == history.life],
        default=0,
    )
    failed = [
        row
        for row in mine
        if row.state == "failed"
        and row.reason in REPORTED
        and not row.is_savepoint
        and (row.end_ms or 0) > since_ms
    ]
    if not failed or history.state != "running":
        return []
    newest = max(failed, key=lambda row: row.end_ms or 0)
    why = newest.message.strip().splitlines()[:1] or [newest.reason]
    return [f"{plural(len(failed), 'checkpoint')} failed in a row. The last error: {why[0].rstrip('.')}."]


def _owes(part: TaskPart, history: JobHistory) -> str:
    """Return what a checkpoint waits for in a subtask: ``count 2/3 (barrier of channel 2)``."""
    name = history.label(*split_task(part.task))
    if part.snapshotted_ms is not None:
        return f"{name} (its acknowledgement is on its way)"
    if part.aligned_ms is not None:
        return f"{name} (writes its state)"
    if part.barriers:
        return f"{name} (waits for the barrier of {channels_words(part.waits_for)})"
    return f"{name} (has no barrier yet)"


def _channels(history: JobHistory, now_ms: int) -> list[str]:
    mine = [c for c in history.channels if c.life == history.life]
    full = sorted((c for c in mine if c.fill >= FULL), key=lambda c: -c.fill)
    said = [
        f"{c.producer.label} is held back by {c.consumer.label}: channel {c.number} has {c.records:,} of "
        f"{c.capacity:,} records."
        for c in full[:LISTED_MAX]
    ]
    if len(full) > LISTED_MAX:
        said.append(f"And {len(full) - LISTED_MAX:,} more channels that are full.")
    aligning = [t for t in history.tasks if t.vertex.life == history.life and t.state == ALIGNING]
    said += [
        f"{task.label} has aligned checkpoint {task.aligning} for {span(now_ms - task.since_ms)}: "
        f"it waits for {channels_words(task.waits_for)}."
        for task in aligning[:LISTED_MAX]
    ]
    return said


def _back_to(history: JobHistory, now_ms: int) -> str:
    latest = history.latest
    if latest is None:
        restored = history.restores[-1].checkpoint_id if history.restores else None
        if restored is not None:
            return f"A failure would go back to checkpoint {restored}, with which the job was started."
        return "No checkpoint is complete: after a failure the job would begin again."
    ago = span(now_ms - (latest.end_ms or now_ms))
    return f"A failure would go back to checkpoint {latest.checkpoint_id}, complete for {ago}."
