"""`GroupObserver`: follows a reader group from outside, by reading its state log.

A thread waits at the end of the log (`client.reader_group.following`) and passes each entry to
`GroupTracker`. Nothing is written: no reader is registered, no writer is set up, no lease is taken, no mark
is moved. This works with any group, of Python, Java or Flink readers, in any Pravega.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from pravega_lab.client.reader_group.following import GroupLog, LogEntry, LogPlace
from pravega_lab.errors import (
    NotFoundError,
    PravegaError,
    ProtocolError,
    StreamSealedError,
    TruncatedDataError,
)
from pravega_lab.observe.group.entries import Entry, read_entry
from pravega_lab.observe.group.observations import GroupSeen
from pravega_lab.observe.group.rows import split_segment
from pravega_lab.observe.group.tracker import GroupTracker
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.journalled import Journalled
from pravega_lab.observe.journal.observations import Observation
from pravega_lab.observe.journal.troubles import TroubleOf
from pravega_lab.portable import threads
from pravega_lab.protocol.names import segment_name

if TYPE_CHECKING:
    from pravega_lab.client import Client

TICK_MS = 250  # how often the journal notes that nothing happened
SILENT_MS = 30_000  # how long a connection may be dead before the client notices
ASLEEP_MS = 2_000  # a read that takes longer shows that the computer slept
AGAIN_MS = 250  # how long to wait before trying again to read a group


class GroupObserver(Journalled):
    """Fills a journal with what happens to a reader group, in a thread, until it is closed.

    Args:
        client: A client of the store. It is only asked where the log is, and for its bytes.
        group: ``scope/group``. It need not exist yet.
        journal: The journal to fill; by default a new one.
        tracker: The tracker of an observer that was closed, to resume with it. Nothing is reported twice,
            and a part of the log that was dropped in between is reported as a gap.
        recorded: The id of the group and the last revision that the journal contains, if it continues a
            recording. Up to there the log is read, and not reported again.
        on_streams: Is called, in the observer's thread, with the streams of the group when they become
            known.
    """

    def __init__(
        self,
        client: Client,
        group: str,
        journal: Journal | None = None,
        *,
        tracker: GroupTracker | None = None,
        recorded: tuple[str, int] | None = None,
        on_streams: Callable[[Sequence[str]], None] | None = None,
    ) -> None:
        self.group = group
        self.journal = Journal(f"{group} at {client.uri}") if journal is None else journal
        self.tracker = GroupTracker(group, uri=client.uri) if tracker is None else tracker
        self.shows = ("groups",)
        self._recorded = recorded
        self._log = GroupLog(client, group)
        self._on_streams = on_streams
        self._streams: list[str] = []
        self._unknowable: dict[str, None] = {}  # segments whose keys the controller does not know
        self._backlog_end = -1
        self._backlog_ms: int | None = None  # how old the entries before that may be
        self._live_ms = 0  # how old the others may be
        self._asleep_ms = 0  # how much older, because this computer slept while they arrived
        self._contact_ms: int | None = None  # when the log was last known to have been read to its end
        self._missing_ms: int | None = None  # when it was last known not to exist
        self._gaps = 0
        self._trouble = TroubleOf(self.journal.append)
        self._closing = threads.Event()
        self._looked = threads.Condition()
        self._looks = 0
        self._thread = threads.Thread(target=self._run, name=f"observe group {group}", daemon=True)
        self._thread.start()

    def done_here(self, reader: str, cause: str, *, was_killed: bool = False) -> None:
        """Note that a control of this program ended ``reader``: its leaving is then reported with this
        cause.
        """
        self.tracker.done_here(reader, cause, was_killed=was_killed)

    def look(self, timeout_s: float = 10.0) -> bool:
        """Wait until what the log holds now is in the journal.

        Return False if that took too long, or if this observer is closed. Return True as well if there is no
        such group and the journal says so.
        """
        if self._closing.is_set():
            return False
        wanted, end_s = self._end_of_log(), time.monotonic() + timeout_s
        with self._looked:
            if wanted is None:
                looks = self._looks + 2
                return self._looked.wait_for(lambda: self._looks >= looks, timeout_s)
            return self._looked.wait_for(lambda: self._is_at(wanted), max(0.0, end_s - time.monotonic()))

    def wait_for_first_look(self, timeout_s: float = 10.0) -> bool:
        """Wait until the log was read once. Return False if that took too long."""
        return self._looks > 0 or self.look(timeout_s)

    def _is_at(self, wanted: LogPlace) -> bool:
        return self.tracker.segment == wanted.segment and self.tracker.offset >= wanted.write_offset

    def _end_of_log(self) -> LogPlace | None:
        try:
            return self._log.locate()
        except PravegaError:
            return None

    def close(self) -> None:
        """Stop following, and wait until the thread has ended. The journal stays."""
        self._closing.set()
        self._log.close()
        self._thread.join(10)

    # The thread.

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._follow()
            except (NotFoundError, StreamSealedError) as error:
                self._vanished(error)
            except TruncatedDataError:
                continue  # opening finds out where the log begins now
            except Exception as error:  # no caller could catch it in this thread: the journal has it
                self._say_trouble(str(error) or type(error).__name__)
            self._has_looked()
            self._closing.wait(AGAIN_MS / 1000)

    def _follow(self) -> None:
        """Read the log from the tracker's offset on, until something is wrong."""
        self._open()
        read_ms = _now_ms()
        while not self._closing.is_set():
            try:
                entries = self._log.next(TICK_MS / 1000)
            except ProtocolError as error:
                self._skip_damage(error)
                return
            took_ms = _now_ms() - read_ms
            self._asleep_ms = took_ms if took_ms > ASLEEP_MS else 0
            for entry in entries:
                self._take(entry)
            self._contact_ms = read_ms = _now_ms()
            self.journal.tick(self._contact_ms)
            self._has_looked()

    def _open(self) -> None:
        tracker, place = self.tracker, self._log.locate()
        if tracker.segment and (place.segment != tracker.segment or place.write_offset < tracker.offset):
            self.journal.extend(tracker.vanished(now_ms=_now_ms()))  # it was deleted and created again
            self._contact_ms = None
        if tracker.segment and tracker.offset < place.start_offset:
            self._say_gap(tracker.offset, place.start_offset)
        if self._recorded is not None and self._recorded[1] < place.start_offset:
            self._say_gap(self._recorded[1], place.start_offset)
        if tracker.offset < place.start_offset:
            tracker.skipped(place.start_offset)
        tracker.segment = place.segment
        self._backlog_end = place.write_offset
        self._backlog_ms = self._backlog_age()
        self._live_ms = ceil(1000 * place.round_trip_s)
        self._missing_ms = None
        self._trouble.end(self.group, _now_ms())
        self._log.read_from(place, tracker.offset)

    def _backlog_age(self) -> int | None:
        """Return how many ms ago, at most, the unread part of the log may have been written.

        Return None if that is not known, as after the clock was set back.
        """
        if self._missing_ms is not None:
            since_ms, more_ms = self._missing_ms, 0
        elif self._contact_ms is not None:
            since_ms, more_ms = self._contact_ms, SILENT_MS
        else:
            return None
        age_ms = _now_ms() - since_ms
        return age_ms + more_ms if age_ms >= 0 else None

    def _take(self, entry: LogEntry) -> None:
        updates = read_entry(entry.data)
        self._learn_ranges(updates)
        uncertain_ms = self._backlog_ms if entry.end <= self._backlog_end else self._live_ms + self._asleep_ms
        seen = self.tracker.take(updates, entry.end, now_ms=_now_ms(), uncertain_ms=uncertain_ms)
        self.journal.extend(self._unrecorded(seen, entry.end))
        state = self.tracker.state
        if self._on_streams is not None and state is not None and state.streams() != self._streams:
            self._streams = state.streams()
            self._on_streams(self._streams)

    def _unrecorded(self, seen: Sequence[Observation], end: int) -> Sequence[Observation]:
        """Return what the recording that the journal continues does not contain."""
        if self._recorded is None:
            return seen
        group_id, revision = self._recorded
        if end <= revision and all(o.group_id == group_id for o in seen if isinstance(o, GroupSeen)):
            return ()
        self._recorded = None  # also for another group of this name, whose log begins at 0
        return seen

    def _learn_ranges(self, updates: Entry) -> None:
        """Ask the controller for the keys of the segments that a group starts with: the log does not have
        them.
        """
        by_stream: dict[str, list[int]] = {}
        for segment in self.tracker.missing_ranges(updates):
            if segment not in self._unknowable:
                stream, segment_id = split_segment(segment)
                by_stream.setdefault(stream, []).append(segment_id)
        for stream, ids in by_stream.items():
            names = [_segment_name(stream, segment_id) for segment_id in ids]
            try:
                ranges = self._log.ranges(stream, ids)
            except NotFoundError:
                self._unknowable |= dict.fromkeys(names)
                continue
            self.tracker.learn_ranges({name: (r.low, r.high) for name, r in zip(names, ranges, strict=True)})

    # Failures.

    def _vanished(self, error: Exception) -> None:
        was_there = bool(self.tracker.segment)
        self.journal.extend(self.tracker.vanished(now_ms=_now_ms()))
        self._contact_ms, self._missing_ms, self._streams = None, _now_ms(), []
        words = "is gone" if was_there else "is not there (yet)"
        if was_there or not self._trouble.text:
            self._say_trouble(f"group {self.group} {words}: {error}")

    def _skip_damage(self, error: ProtocolError) -> None:
        """Wait until the log is truncated past a damaged entry: nothing after it can be read before that."""
        self._say_trouble(f"{error}. What follows cannot be read before the log is compacted past it")
        place = self._log.locate()
        while not self._closing.is_set() and place.start_offset <= self.tracker.offset:
            self._closing.wait(AGAIN_MS / 1000)
            self.journal.tick(_now_ms())
            self._has_looked()
            place = self._log.locate()

    def _say_gap(self, from_offset: int, to_offset: int) -> None:
        self._gaps += 1
        count = "" if self._gaps == 1 else f" ({self._gaps} gaps; the newest)"
        self.journal.miss(
            self.group,
            f"the log of {self.group} was dropped from {from_offset:,} to {to_offset:,} before it was "
            f"read{count}",
        )

    def _say_trouble(self, text: str) -> None:
        self._trouble.say(self.group, text, _now_ms())

    def _has_looked(self) -> None:
        with self._looked:
            self._looks += 1
            self._looked.notify_all()


def _segment_name(stream: str, segment_id: int) -> str:
    scope, name = stream.split("/")
    return segment_name(scope, name, segment_id)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
