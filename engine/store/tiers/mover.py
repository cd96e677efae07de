"""`Mover`: the next step of moving to tier 2, from the state of the storage and the time.

The loop around it (`engine.server.tiers.loop`) asks for a step, carries it out, and reports the result::

    step = mover.next_step(now_ms)            Attach | TakeOver | Upload | StoreSnapshot | Delete | List …
    ...                                       the loop does it, which may take long or fail
    mover.attached(...) | uploaded(...) | ... | failed(now_ms)

One step is under way at a time. After a failure the mover waits, twice as long after each further failure.
Nothing else remembers a step: an upload that failed is planned again from the state of the storage, under a
new name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import TierMismatch
from ..log.chunks import (
    Owner,
    Piece,
    chunk_name,
    is_chunk,
    life_of,
    marker,
    owner,
    snapshot_name,
    snapshot_sequence,
    store_in,
)
from ..log.history import LIVES_REMEMBERED
from ..storage.tiered import Tiered, TierSnapshot
from .moves import Pass
from .settings import TierSettings

RETRY_MS_MIN, RETRY_MS_MAX = 500, 30_000
FOREIGN_MARKER = (
    "The folder in tier 2 has an object 'store' that no store has written, and it would be overwritten. Give"
    " another --tier2, or move that object away."
)


@dataclass(frozen=True, slots=True)
class Attach:
    """Read the marker and the owner and list all objects, then call `Mover.attached`."""


@dataclass(frozen=True, slots=True)
class WriteMarker:
    """Write the marker, then call `Mover.marked`."""

    data: bytes


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Write the owner, then call `Mover.taken`. Another store with the same id stops when it sees it."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Upload:
    """Write the bytes of ``pieces`` as chunk ``number`` under ``name``, record the move in the log, then call
    `Mover.moved`. Pieces whose bytes have left the log are left out.
    """

    number: int
    name: str
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    """Encode ``snapshot``, write it under ``name`` and read it back, then call `Mover.snapshot_stored`."""

    name: str
    snapshot: TierSnapshot


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete ``names`` in their order, and call `Mover.deleted` after each. It is no error if one does not
    exist.
    """

    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class List:
    """List all objects, then call `Mover.listed`."""


Step = Attach | WriteMarker | TakeOver | Upload | StoreSnapshot | Delete | List


class Mover:
    """Decides what to move, and when appends have to wait.

    Args:
        tiered: The storage.
        settings: The limits.
        life: A tag that no other life of this store has, for the names of objects.
    """

    def __init__(self, tiered: Tiered, settings: TierSettings, life: str) -> None:
        self._tiered = tiered
        self._settings = settings
        self.life = life
        self._began_at = tiered.sequence
        self._is_attached = self._is_marked = self._is_taken = False
        self._pass: Pass | None = None
        self._number = 0
        self._since_ms: int | None = None  # since when there are bytes in the log that no pass has visited
        self._snapshot_ms = -(1 << 62)
        self._sweep_ms = 0
        self._doomed: dict[str, int] = {}  # name -> sequence of the state that no longer needs it
        self._dead_sequence = -1  # of the latest state that no longer needs an object that it once needed
        self._unwritten: type[Step] | None = None  # an upload or a snapshot, perhaps for lack of room
        self._old_snapshots: list[str] = []
        self._stored_sequence = -1
        self._snapshots = 0  # begun in this life
        self._failures = 0
        self._log_failures = 0
        self._is_silent = False
        self._retry_ms = 0
        self._is_behind = False

    # Throttle

    @property
    def is_behind(self) -> bool:
        """Return whether appends have to wait, because too many bytes are in the log."""
        part = 0.75 if self._is_behind else 1.0
        self._is_behind = self._tiered.log_bytes > part * self._settings.backlog_bytes
        return self._is_behind

    @property
    def failures(self) -> int:
        """Return how many steps have failed in tier 2 since the last one that succeeded there."""
        return self._failures

    @property
    def is_silent(self) -> bool:
        """Return whether the step under way has taken long; see `unanswered`."""
        return self._is_silent

    @property
    def is_attached(self) -> bool:
        """Return whether this life of the store has taken its folder in tier 2."""
        return self._is_attached and self._is_taken

    # Steps

    def next_step(self, now_ms: int) -> Step | None:
        """Return the next step, or None if there is nothing to do at this time."""
        if now_ms < self._retry_ms or not self._tiered.sequence:
            return None  # before its first group a store has no id that lasts
        if not self._is_attached:
            return Attach()
        if not self._is_marked:
            return WriteMarker(marker(self._tiered.store_id))
        if not self._is_taken:
            return TakeOver(owner(self._tiered.store_id, self._tiered.lives[-1]))
        self._doom([chunk.name for chunk in self._tiered.take_dead()])
        return self._free(now_ms) or self._upload(now_ms) or self._store(now_ms) or self._clean(now_ms)

    def _upload(self, now_ms: int) -> Upload | None:
        if self._pass is None:
            self._pass = self._begin_pass(now_ms)
        if self._pass is None:
            return None
        pieces = self._pass.next_pieces()
        if not pieces:
            self._pass = None
            return None
        self._number = max(self._number + 1, self._tiered.next_chunk)
        return Upload(self._number, chunk_name(self._number, self.life), pieces)

    def _begin_pass(self, now_ms: int) -> Pass | None:
        log_bytes = self._tiered.log_bytes
        if not log_bytes:
            self._since_ms = None
            return None
        if self._since_ms is None:
            self._since_ms = now_ms
        is_due = now_ms >= self._since_ms + self._settings.after_ms
        if is_due or 2 * log_bytes > self._settings.backlog_bytes:
            self._since_ms = now_ms
            return Pass(self._tiered, self._settings.chunk_bytes, None)
        full = self._tiered.full_files()
        return Pass(self._tiered, self._settings.chunk_bytes, full) if full else None

    def _store(self, now_ms: int) -> StoreSnapshot | None:
        """Store a snapshot if log files or objects can be deleted then, or if it would be complete: with no
        byte in the log, a store can be rebuilt from it alone.

        Only the first reason does not wait: it occurs once for each file of the log.
        """
        is_early = now_ms < self._snapshot_ms + self._settings.after_ms
        is_needed = any(sequence > self._stored_sequence for sequence in self._doomed.values())
        is_complete = not self._tiered.log_bytes and self._tiered.sequence > self._stored_sequence
        if not (self._tiered.files_to_free() or ((is_needed or is_complete) and not is_early)):
            return None
        return self._begin_snapshot(now_ms)

    def _begin_snapshot(self, now_ms: int) -> StoreSnapshot:
        snapshot = self._tiered.begin_snapshot()
        self._snapshot_ms = now_ms
        self._snapshots += 1  # no name is used again: an upload that failed will be deleted, or ends later
        return StoreSnapshot(snapshot_name(snapshot.sequence, f"{self.life}.{self._snapshots}"), snapshot)

    def _free(self, now_ms: int) -> StoreSnapshot | Delete | None:
        """After a failed upload, delete what no segment needs. A full tier takes no upload before, however
        many are due.

        Objects that can be deleted go first. Others can be after the next snapshot, but that needs room, too.
        If a snapshot has failed, the next upload is tried before the next snapshot.
        """
        if self._unwritten is None:
            return None
        if (step := self._delete()) is not None:
            return step
        if self._unwritten is Upload and self._dead_sequence > self._stored_sequence:
            return self._begin_snapshot(now_ms)
        self._unwritten = None
        return None

    def _clean(self, now_ms: int) -> Delete | List | None:
        """Search when it is time for it, also while there is an object that cannot be deleted."""
        return List() if now_ms >= self._sweep_ms else self._delete()

    def _delete(self) -> Delete | None:
        names = [name for name, sequence in self._doomed.items() if sequence <= self._stored_sequence]
        return Delete(names[:100]) if names else None

    # Results

    def attached(
        self, content: bytes | None, taken_by: Owner | None, names: Sequence[str], now_ms: int
    ) -> None:
        """Note what is in tier 2: the content of the marker, the owner, None if missing, and all names.

        Raises:
            TierMismatch: It does not belong to this store, or is newer than what this life began with, or
                another store with its id has taken it.
        """
        store_id = self._tiered.store_id
        is_cut = content is not None and marker(store_id).startswith(content)
        if not (is_cut and taken_by is not None and taken_by[0] == store_id):
            check_marker(content, names, store_id, has_chunks=bool(self._tiered.chunks()))
        check_owner(taken_by, self._tiered)
        self._is_marked = content == marker(store_id)
        self._is_attached = True
        self._learn(names, now_ms, self._began_at)  # groups that came since are no proof
        if self._is_marked:  # else this is looked at before each try to write the marker, and is no success
            self._succeeded()

    def marked(self) -> None:
        """Note that the marker is written."""
        self._succeeded()
        self._is_marked = True

    def taken(self) -> None:
        """Note that the owner is written."""
        self._succeeded()
        self._is_taken = True

    def lost(self) -> None:
        """Note that the owner is not what this life wrote. A write of an earlier life was late, for example.

        It is written again if no other store has taken the folder. Then the objects there are listed again.
        """
        self._is_taken = False
        self._sweep_ms = 0

    def moved(self) -> None:
        """Note that an upload is recorded in the log, or that nothing was left to upload."""
        self._succeeded()

    def snapshot_stored(self, step: StoreSnapshot) -> None:
        """Note that a snapshot is in tier 2 as it was written. Older ones are deleted."""
        self._succeeded()
        self._stored_sequence = step.snapshot.sequence
        self._doomed.update(dict.fromkeys(self._old_snapshots, step.snapshot.sequence))
        self._old_snapshots = [step.name]
        self._tiered.snapshot_stored(step.snapshot.first_file)

    def deleted(self, name: str) -> None:
        """Note that an object of a step `Delete` is deleted."""
        self._succeeded()
        self._doomed.pop(name, None)

    def listed(self, names: Sequence[str], now_ms: int) -> None:
        """Note which objects are in tier 2. Those that belong to nothing will be deleted.

        An object may be missing in the list, or be in it although it was deleted.

        Raises:
            TierMismatch: A snapshot is newer than this store, so another one wrote it.
        """
        self._succeeded()
        self._learn(names, now_ms, self._tiered.sequence)

    @property
    def needed(self) -> list[str]:
        """Return the names of the objects that have to be in tier 2: snapshots and chunks."""
        return [*self._old_snapshots, *(chunk.name for chunk in self._tiered.chunks())]

    def missing(self, names: Sequence[str]) -> None:
        """Note which objects are missing in tier 2. A snapshot is stored again."""
        kept = [name for name in self._old_snapshots if name not in names]
        if kept != self._old_snapshots:
            self._old_snapshots, self._stored_sequence = kept, -1

    def _learn(self, names: Sequence[str], now_ms: int, last: int) -> None:
        latest = max((found for name in names if (found := snapshot_sequence(name)) is not None), default=0)
        if latest > last:
            raise TierMismatch(
                f"Tier 2 has a snapshot of the state after group {latest}, but the log in the folder of this"
                f" store ended with group {last}: the folder is older than tier 2, or another store"
                " uses it. Stop that store and give the folder that was used last, or an empty one and"
                " --tier2-rebuild."
            )
        self._sweep_ms = now_ms + self._settings.sweep_ms
        alive = {chunk.name for chunk in self._tiered.chunks()}
        mine = {*self._tiered.lives, self.life}  # other chunks are of another store with the same id
        self._doom([n for n in names if is_chunk(n) and n not in alive and life_of(n) in mine])
        known = {*self._old_snapshots, *self._doomed}
        if not self._old_snapshots:  # of an earlier life: kept until this life has stored one
            self._old_snapshots = [name for name in names if snapshot_sequence(name) is not None]
        else:
            stray = [n for n in names if snapshot_sequence(n) is not None and n not in known]
            self._doom(stray)

    def failed(self, step: Step, now_ms: int, *, is_in_log: bool = False) -> None:
        """Note that a step failed, or may have failed. What it wrote will be deleted.

        ``is_in_log``: The log of the store refused its record, after tier 2 had done its part.
        """
        self._pass = None
        self._unwritten = type(step) if isinstance(step, Upload | StoreSnapshot) else None
        if isinstance(step, WriteMarker):  # another store may take the folder before it is tried again
            self._is_attached = False
        if isinstance(step, Upload | StoreSnapshot):
            self._doomed.setdefault(step.name, self._tiered.sequence)
            self._snapshot_ms = -(1 << 62)
        if isinstance(step, List):
            self._sweep_ms = now_ms + self._settings.sweep_ms  # deletions do not wait for it
        if isinstance(step, Delete):  # the one that failed is the first that is left: others go before it now
            left = next((name for name in step.names if name in self._doomed), None)
            if left is not None:
                self._doomed[left] = self._doomed.pop(left)
        failures = self._log_failures if is_in_log else self._failures
        self._succeeded()
        if is_in_log:
            self._log_failures = failures + 1
        else:
            self._failures = failures + 1
        self._retry_ms = now_ms + min(RETRY_MS_MAX, RETRY_MS_MIN << min(failures, 10))

    def unanswered(self) -> None:
        """Note that the step under way takes long. It is waited for nevertheless: it may have an effect."""
        self._is_silent = True

    def _succeeded(self) -> None:
        self._is_silent = False
        self._failures = self._log_failures = 0
        self._retry_ms = 0

    def _doom(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._doomed:
                self._doomed[name] = self._dead_sequence = self._tiered.sequence


def check_marker(content: bytes | None, names: Sequence[str], store_id: bytes, *, has_chunks: bool) -> None:
    """Refuse a folder in tier 2 that does not belong to the store.

    Raises:
        TierMismatch: The marker names another store or none, or objects of this store are missing.
    """
    found = None if content is None else store_in(content)
    if found is not None and found != store_id:
        raise TierMismatch(
            f"The folder in tier 2 belongs to store {found.hex()}, and this is store {store_id.hex()}. Give"
            " another --tier2, or the --data folder of that store, or an empty one and --tier2-rebuild."
        )
    if found is None and has_chunks:
        raise TierMismatch(
            "The folder in tier 2 does not name the store that it belongs to, but this store has moved"
            " segments to tier 2. Give the --tier2 that it used, or restore the object 'store' there."
        )
    if found is None and any(is_chunk(name) or snapshot_sequence(name) is not None for name in names):
        raise TierMismatch(
            "The folder in tier 2 contains chunks or snapshots but no object 'store' that says to which"
            " store they belong. Give an empty folder as --tier2, or restore that object."
        )
    if content is not None and not marker(store_id).startswith(content):  # it begins so if it was cut
        raise TierMismatch(FOREIGN_MARKER)


def check_owner(found: Owner | None, tiered: Tiered) -> None:
    """Refuse a folder in tier 2 that another store has taken since this one did.

    Args:
        found: What the object `OWNER` names, None if it does not exist or was cut.
        tiered: The storage of this store.

    Raises:
        TierMismatch: The owner is another store, or a life that this store does not know.
    """
    if found is None:
        return
    store_id, life = found
    if store_id != tiered.store_id:
        raise TierMismatch(
            f"The folder in tier 2 has been taken by store {store_id.hex()}, and this is store"
            f" {tiered.store_id.hex()}. Give another --tier2."
        )
    if life not in tiered.lives:
        raise TierMismatch(
            "Another store with the id of this one has taken the folder in tier 2: one of them is a copy of"
            " the other, or was rebuilt from tier 2. Each would delete what the other moves there, so only"
            " the one that took it last may continue. Give a store that was restored from a backup the"
            " --tier2 that it was restored with. To continue here with what is in tier 2, stop the other"
            " store, and give an empty --data folder and --tier2-rebuild. If there is no other store, delete"
            " the object 'owner' in tier 2: the file 'history' of this store was deleted, or the store was"
            f" started more than {LIVES_REMEMBERED} times and used tier 2 in none of them."
        )
