"""Words for what a run contains: a sentence for each fault, and for lines of the journal.

A line that has no sentence here is left out. Times are not part of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pravega_lab.protocol.names import epoch_of, number_of

from ..kernel.faults import Happened
from ..kernel.journal import Entry

STORE, NETWORK, JOB, TIER = "store", "network", "job master", "tier 2"
LIST_MAX = 3
About = Mapping[str, Any]

# part and kind of a fault -> lane, and a sentence in which {} is what it struck
FAULTS: dict[tuple[str, str], tuple[str, str]] = {
    ("network", "cut"): (NETWORK, "The network cuts a connection, and each end notices it later."),
    ("network", "half-close"): (NETWORK, "One direction of a connection ends, and the other stays open."),
    ("network", "refused"): (NETWORK, "A connection is refused."),
    ("network", "split"): (NETWORK, "The network delivers a piece of data in two parts."),
    ("network", "stall"): (NETWORK, "The network delays a piece of data."),
    ("network", "lost request"): (NETWORK, "A request to the controller is lost."),
    ("network", "lost answer"): (NETWORK, "The controller replies, and the reply is lost."),
    ("disk", "slow write"): (STORE, "A write to {} is slow."),
    ("disk", "crash in a write"): (STORE, "The power fails while {} is written."),
    ("disk", "failed sync"): (STORE, "The sync of {} fails."),
    ("disk", "torn"): (STORE, "Only some sectors of the write to {} reach the disk."),
    ("disk", "full"): (STORE, "The disk has no room for {}."),
    ("disk", "removal forgotten"): (STORE, "The crash brings the removed file {} back."),
    ("disk", "damage: flip"): (STORE, "A bit of {} is flipped."),
    ("disk", "damage: zero"): (STORE, "A sector of {} is zeroed."),
    ("disk", "damage: cut"): (STORE, "The file {} is cut."),
    ("disk", "damage: remove"): (STORE, "The file {} is removed."),
    ("disk", "damage: flip while running"): (STORE, "A bit of {} is flipped while the store runs."),
    ("disk", "damage: removed while running"): (STORE, "The log files are removed while the store runs."),
    ("world", "store crash"): (STORE, "The process of the store is killed."),
    ("world", "clock skew"): (STORE, "The store starts on a machine whose clock differs by {}."),
    ("world", "log lost"): (STORE, "The folder of the store is lost."),
    ("tier 2", "rebuild"): (TIER, "The store starts from the snapshot in tier 2."),
    ("tier 2", "slow tier"): (TIER, "A call to tier 2 is slow."),
    ("tier 2", "late list"): (TIER, "A list of tier 2 does not show the last change of {}."),
    ("tier 2", "half an upload"): (TIER, "Tier 2 stores a part of {}, and reports an error."),
    ("tier 2", "full tier"): (TIER, "There is no room in tier 2 for {}."),
    ("tier 2", "undeletable object"): (TIER, "Tier 2 refuses to delete {}."),
    ("tier 2", "unheard upload"): (TIER, "Tier 2 stores an object, and reports an error."),
    ("tier 2", "unfinished upload late"): (TIER, "The upload of {} survives the crash and completes later."),
    ("job", "killed subtask"): (JOB, "The process of {} is killed."),
    ("job", "failed subtask"): (JOB, "{} raises an error."),
    ("job", "global failure"): (JOB, "An enumerator raises an error, so the whole job fails."),
    ("job", "savepoint"): (JOB, "A user asks for a savepoint."),
    ("job", "scaled"): (JOB, "The job is stopped, and restored with other parallelisms."),
    ("job", "scaled job"): (JOB, "The job is cancelled, and restored with another parallelism."),
    ("job", "odd end"): (JOB, "The job is cancelled at an unlikely moment."),
    ("wire", "lost message"): (NETWORK, "A message on {} is lost."),
    ("wire", "slow message"): (NETWORK, "A message on {} is slow."),
    ("files", "failed file"): ("files", "A file call fails: {}."),
    ("table", "retried commit"): (JOB, "The committer of {} is asked to commit again."),
}


def fault_words(happened: Happened) -> tuple[str, str]:
    """Return the lane and the sentence of a fault."""
    fault, about = happened.fault, happened.about
    if fault.kind == "application crash":
        return process_of(about), f"The process of {process_of(about)} is killed."
    if fault.kind == "clock jump":
        return STORE, f"The wall clock of the store's machine jumps by {about}."
    lane, words = FAULTS.get((fault.part, fault.kind), (fault.part, f"{fault.kind} ({{}})."))
    words = words.format(about or "it") if "{}" in words else words
    return lane, words[0].upper() + words[1:]


def process_of(who: str) -> str:
    """Return the process of a name in the journal: ``writer1`` of ``writer1.2``, its second life."""
    return re.sub(r"\.\d+$", "", who)


def some(values: Any, many: str) -> str:
    """Return a list in words, or the number of its elements if they are many."""
    found = [str(value) for value in values]
    return ", ".join(found) if len(found) <= LIST_MAX else f"{len(found):,} {many}"


def _events(about: About) -> str:
    return some((event.rstrip("x").rstrip("|") for event in about["events"]), "events")


def _checkpoint(about: About) -> str:
    return f"checkpoint {about['checkpoint_id']}"


Words = Callable[[str, About], str]
# line of the journal -> the lane to which an arrow goes ("" for none), and the sentence
LINES: dict[str, tuple[str, Words]] = {
    "start": ("", lambda who, a: f"The store starts, for the {_nth(a['life'])} time."),
    "crash": ("", lambda who, a: "The store is gone, and what it had not synced may be lost."),
    "stop": ("", lambda who, a: "The store stops in order."),
    "recovered": ("", lambda who, a: f"The store recovers {a['count']} submissions."),
    "refused": ("", lambda who, a: f"The store refuses to open: {a['why']}"),
    "submit": (STORE, lambda who, a: f"Submission {a['n']}: {some(a['operations'], 'operations')}."),
    "killed": ("", lambda who, a: f"{who} is gone."),
    "failed": ("", lambda who, a: f"{who} ends with {a['error']}."),
    "write": (STORE, lambda who, a: f"{who} writes {_events(a)}."),
    "acked": (STORE, lambda who, a: _acked(who, a)),
    "txn-begin": (STORE, lambda who, a: f"{who} begins the transaction {a['txn']}."),
    "txn-write": (STORE, lambda who, a: f"{who} writes {_events(a)} in the transaction {a['txn']}."),
    "txn-commit": (STORE, lambda who, a: f"{who} asks to commit {a['txn']}."),
    "txn-committing": (STORE, lambda who, a: f"{who} is told that {a['txn']} is going to be committed."),
    "txn-committed": (STORE, lambda who, a: f"{who} is told that {a['txn']} is committed."),
    "txn-aborted": (STORE, lambda who, a: f"{who} is told that {a['txn']} is aborted."),
    "reading": ("", lambda who, a: f"{who} begins to read{' where it had saved' if a['positions'] else ''}."),
    "read": (STORE, lambda who, a: f"{who} reads {a['event'].rstrip('x').rstrip('|')}."),
    "read-all": ("", lambda who, a: f"{who} has read everything."),
    "read-to-tail": ("", lambda who, a: f"{who} has read to the tail."),
    "read-truncated": ("", lambda who, a: f"{who} finds its next events truncated."),
    "truncate": (STORE, lambda who, a: f"{who} truncates the stream at its position."),
    "table-put": (STORE, lambda who, a: f"{who} puts {a['op']}, if the version is {a['expected']}."),
    "table-put-ok": (STORE, lambda who, a: f"{who} is told that {a['op']} has version {a['version']}."),
    "table-put-refused": (STORE, lambda who, a: f"{who} is told that {a['op']} was refused."),
    "table-got": (STORE, lambda who, a: f"{who} gets {a['value']}, of version {a['version']}."),
    "scale": (STORE, lambda who, a: f"{who} asks to replace {_segments(a['seal'])}."),
    "scaled": (STORE, lambda who, a: f"The stream is scaled: now there are {_segments(a['segments'])}."),
    "clock-jump": (STORE, lambda who, a: f"{who} sets the clock by {a['ms']} ms."),
    "leased": (STORE, lambda who, a: f"{who} opens a transaction with a lease of {a['lease_ms']} ms."),
    "lease-seen": (STORE, lambda who, a: f"{who} sees that the transaction is {a['state']}."),
    "subscribed": (STORE, lambda who, a: f"{a['group']} subscribes to the stream."),
    "released": (STORE, lambda who, a: f"{a['group']} releases what it has read."),
    "damage": ("", lambda who, a: f"Damage: {a['kind']} at byte {a['place']} of {a['file']}."),
    "rebuild": ("", lambda who, a: "The store takes its snapshot from tier 2."),
    "copied": ("", lambda who, a: f"The folder of the store is copied to machine {a['machine']}."),
    "judged": ("", lambda who, a: f"The store on machine {a['machine']} {_outcome(a['refusal'])}."),
    "log lost": ("", lambda who, a: "The log is lost, and the store is rebuilt from tier 2."),
    "healed": ("", lambda who, a: "All faults end."),
    "sealed": ("", lambda who, a: "The stream is sealed."),
    # reader groups
    "member": ("", lambda who, a: f"{who} is a reader of the group."),
    "got": (STORE, lambda who, a: f"{who} receives the event at {a['offset']} of {a['segment']}."),
    "at-checkpoint": ("", lambda who, a: f"{who} receives the checkpoint {a['name']}."),
    "checkpointed": ("", lambda who, a: f"The checkpoint {a['name']} completes."),
    "declared-dead": ("", lambda who, a: f"{who} declares the reader {a['reader']} offline."),
    "closed": ("", lambda who, a: f"{who} goes offline in order."),
    "reset": ("", lambda who, a: f"{who} resets the group, to generation {a['generation']}."),
    "shares": ("", lambda who, a: f"The readers have {a['counts']} segments, and {a['free']} are free."),
    "noted": (STORE, lambda who, a: f"{who} has noted the time {a['time']}."),
    "window": ("", lambda who, a: f"{who} sees the time window from {a['lower']} to {a['upper']}."),
    # jobs
    "input ends": ("", lambda who, a: "The input ends."),
    "JobStateChanged": ("", lambda who, a: f"The job is {a['state']}.{_why(a)}"),
    "Restored": ("", lambda who, a: f"{some(a['subtasks'], 'subtasks')} resume from {_restored(a)}."),
    "SubtaskStateChanged": ("", lambda who, a: f"{a['subtask']} is {a['state']}.{_why(a)}"),
    "CheckpointPending": ("", lambda who, a: f"The coordinator begins {_checkpoint(a)}."),
    "CheckpointStep": ("", lambda who, a: f"In {_checkpoint(a)}: {a['step']}, {a['who']}."),
    "BarrierArrived": ("", lambda who, a: f"The barrier of {_checkpoint(a)} arrives at {a['subtask']}."),
    "Aligned": ("", lambda who, a: f"{a['subtask']} has all barriers of {_checkpoint(a)}."),
    "Snapshotted": ("", lambda who, a: f"{a['subtask']} stores its state for {_checkpoint(a)}."),
    "Acknowledged": (JOB, lambda who, a: f"{a['subtask']} acknowledges {_checkpoint(a)}."),
    "CheckpointCompleted": ("", lambda who, a: f"{_checkpoint(a).capitalize()} is complete."),
    "CheckpointFailed": ("", lambda who, a: f"{_checkpoint(a).capitalize()} fails.{_why(a)}"),
    "CheckpointNotified": ("", lambda who, a: f"{a['subtask']} is notified of {_checkpoint(a)}."),
    "violated": ("", lambda who, a: f"A checker finds: {a['problem'].splitlines()[0]}."),
    "killed subtask": ("", lambda who, a: "The process of a subtask is killed."),
    "scaled job": ("", lambda who, a: "The job is cancelled, to resume with another parallelism."),
    # the race
    "FINALIZE_CHECKPOINT_FAILURE": ("", lambda who, a: f"The coordinator cannot complete {_checkpoint(a)}."),
}  # fmt: skip
FROM_STORE = {"acked", "read", "got", "table-got", "table-put-ok", "table-put-refused", "txn-committing"}
FROM_STORE |= {"txn-committed", "txn-aborted", "scaled", "lease-seen", "subscribed", "released"}
OF_STORE = {"start", "crash", "stop", "recovered", "refused", "damage"}
OF_JOB = {"JobStateChanged", "Restored", "CheckpointPending", "CheckpointStep", "CheckpointCompleted"}
OF_JOB |= {"CheckpointFailed", "input ends", "scaled job"}


def _nth(n: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(n, f"{n}th")


def _acked(who: str, about: About) -> str:
    if "events" not in about:
        return f"The store acknowledges submission {about['n']}."
    return f"{who} is told that {_events(about)} are durable." if about["events"] else ""


def _outcome(refusal: str | None) -> str:
    return "continues" if refusal is None else f"is refused: {refusal.rstrip('.')}"


def _segments(ids: Any) -> str:
    return some((f"segment {number_of(n)}.{epoch_of(n)}" for n in ids), "segments")


def _why(about: About) -> str:
    reason = str(about.get("reason") or "").splitlines()
    return f" The reason: {reason[0]}." if reason else ""


def _restored(about: About) -> str:
    return "the beginning" if about["checkpoint_id"] is None else _checkpoint(about)


def about_of(entry: Entry) -> About:
    """Return what a line is about; lines of a job have it one level deeper."""
    inner = entry.about.get("about")
    return inner if isinstance(inner, dict) else entry.about


def line_words(entry: Entry) -> str:
    """Return the sentence of a line of the journal, or "" if it has none."""
    known = LINES.get(entry.what)
    if known is None:
        return f"{entry.who}: {entry.what}." if "checkpoint_id" in entry.about else ""
    return known[1](process_of(entry.who), about_of(entry))


def lanes_of(entry: Entry) -> tuple[str, str]:
    """Return the lane where a line of the journal happens, and the lane that it came from, if any."""
    about = about_of(entry)
    if entry.what in OF_STORE or (entry.what == "acked" and "n" in about):
        return STORE, ""
    if entry.what in OF_JOB:
        return JOB, ""
    own = str(about["subtask"]) if "subtask" in about else process_of(entry.who)
    other = LINES[entry.what][0] if entry.what in LINES else ""
    return (own, other) if entry.what in FROM_STORE or not other else (other, own)
