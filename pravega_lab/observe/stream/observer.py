"""`StreamObserver`: follows a stream's segments from outside, by public calls only, in any Pravega.

A thread asks the controller for the active segments, and the segment store for their lengths;
`StreamTracker` makes observations of the answers. Rates are bytes per second. The protocol counts no
events, so events per second are an estimate: bytes divided by the mean size of an event, which is given or
comes from a small sample that is read now and then.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pravega_lab.client.scaling import ASKED_HERE
from pravega_lab.errors import NotFoundError, PravegaError, StreamNotFoundError
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.journalled import Journalled
from pravega_lab.observe.journal.observations import Observation
from pravega_lab.observe.journal.troubles import TroubleOf
from pravega_lab.observe.stream.causes import Policy
from pravega_lab.observe.stream.tracker import StreamTracker
from pravega_lab.portable import threads
from pravega_lab.protocol.names import SegmentRange, epoch_of
from pravega_lab.protocol.stream_cut import StreamCut

if TYPE_CHECKING:
    from pravega_lab.client import Stream
    from pravega_lab.client.values import SegmentInfo

EVERY_MS = 500
LOOKS_LATE = 4  # a look that is so many intervals after the last one does not date what it finds
INFOS_PER_ROUND = 64  # segments whose length is asked in one round; the others take turns
POLICY_EVERY_MS = 5_000
HEAD_EVERY_MS = 1_000
TIERS_EVERY_MS = 1_000
NO_TIERS_EVERY_MS = 10_000  # how often a store is asked that reports none
SAMPLE_EVERY_MS = 5_000
SAMPLE_BYTES = 64 * 1024
EPOCHS_BACK_MAX = 200  # of a longer past only the newest epochs are noted
EVENT_HEADER_BYTES = 8
_Epoch = tuple[int, list[SegmentRange]]
_KINDS = {"FIXED": "fixed", "EVENTS_PER_S": "events", "KBYTES_PER_S": "kbytes"}


class StreamObserver(Journalled):
    """Fills a journal with what happens to a stream, in a thread, until it is closed.

    Args:
        stream: The client's handle. Nothing is written to the stream.
        journal: The journal to fill; by default a new one.
        every_ms: How often to look.
        event_bytes: Mean size of an event with its 8-byte header, if it is known. Then no sample is read.
        recorded: The observations of a recording that the journal continues. The stream's past is not
            reported again as far as they contain it.

    Each look costs one controller call and one segment store call per active segment, at most 64; now and
    then also the policy and a read of up to 64 KiB.
    """

    def __init__(
        self,
        stream: Stream,
        journal: Journal | None = None,
        *,
        every_ms: int = EVERY_MS,
        event_bytes: float | None = None,
        recorded: Iterable[Observation] = (),
    ) -> None:
        uri = stream.client.uri
        self.journal = Journal(f"{stream.scoped_name} at {uri}") if journal is None else journal
        self.tracker = StreamTracker(stream.scoped_name, event_bytes=event_bytes, uri=uri)
        self.shows = ("streams",)
        self._stream, self._every_ms, self._event_bytes = stream, every_ms, event_bytes
        self._policy_due_ms = self._sample_due_ms = self._head_due_ms = self._tiers_due_ms = 0
        self._turn = self._tiers_turn = 0
        self._looked_ms = 0  # when the stream was last looked at
        self._recorded = {_event(o) for o in recorded}
        self._boundaries: dict[int, int] = {}  # lengths at the last look: events begin there
        self._trouble = TroubleOf(self.journal.append)
        self._was_missing = False
        self._closing = threads.Event()
        self._wake = threads.Event()  # ends the wait for the next look
        self._looked = threads.Condition()
        self._begun = self._looks = 0
        self._thread = threads.Thread(target=self._run, name=f"observe {stream.scoped_name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking, and wait until the thread has ended. The journal stays."""
        self._closing.set()
        self._wake.set()
        self._thread.join(10)

    def look(self, timeout_s: float = 10.0) -> bool:
        """Look at once, and wait until the present state is in the journal.

        Return False if that took too long, or if this observer is closed.
        """
        with self._looked:
            wanted = self._begun + 1  # the look under way may have begun before
            self._wake.set()
            return not self._closing.is_set() and self._looked.wait_for(
                lambda: self._looks >= wanted, timeout_s
            )

    def wait_for_first_look(self, timeout_s: float = 10.0) -> bool:
        """Wait until the stream was looked at once. Return False if that took too long."""
        with self._looked:
            return self._looked.wait_for(lambda: self._looks > 0, timeout_s)

    def _run(self) -> None:
        while not self._closing.is_set():
            wait_ms = self._every_ms
            with self._looked:
                self._begun += 1
            try:
                self._look()
                self._trouble.end(self._stream.scoped_name, _now_ms())
            except PravegaError as error:
                self._say_trouble(error)
                wait_ms = 4 * self._every_ms
            except Exception as error:  # no caller could catch it in this thread: the journal has it
                self._say_trouble(error)
                wait_ms = 4 * self._every_ms
            with self._looked:
                self._looks += 1
                self._looked.notify_all()
            self._wake.wait(wait_ms / 1000)
            self._wake.clear()

    def _say_trouble(self, error: Exception) -> None:
        text = str(error) or type(error).__name__
        if isinstance(error, StreamNotFoundError):
            self._was_missing = True
            text = f"there is no stream {self._stream.scoped_name} (yet): {text}"
            if self.tracker.epoch is not None:
                self._begin_again(_now_ms())
        self._trouble.say(self._stream.scoped_name, text, _now_ms())

    def _begin_again(self, now_ms: int) -> None:
        """Report the end of the stream, and wait for another stream with its name."""
        self.journal.extend(self.tracker.vanished(now_ms=now_ms))
        name, uri = self.tracker.stream, self.tracker.uri
        self.tracker = StreamTracker(name, event_bytes=self._event_bytes, uri=uri)
        self._was_missing, self._boundaries, self._recorded = True, {}, set()
        self._policy_due_ms = self._sample_due_ms = self._head_due_ms = self._tiers_due_ms = 0

    def _look(self) -> None:
        active = self._stream.segments()
        now_ms = _now_ms()
        if self._is_of_another_stream(active):
            self._begin_again(now_ms)
        # The policy at that moment explains a scale, so it is asked again with each scale.
        if _elapsed_ms() >= self._policy_due_ms or self._has_scaled(active):
            self._policy_due_ms = _elapsed_ms() + POLICY_EVERY_MS
            self.journal.extend(self.tracker.saw_policy(self._policy(), now_ms=now_ms))
        if active:
            self._follow_epochs(active, now_ms)
            self._measure(active)
        else:
            self._look_at_sealed(now_ms)
        self._look_at_head(now_ms)
        self._look_at_tiers()
        self._looked_ms = now_ms
        self.journal.tick(_now_ms())

    def _is_of_another_stream(self, active: list[SegmentRange]) -> bool:
        """Return whether the stream was deleted and created again: segments of the two never share an id
        (pravega.md A8).
        """
        known = self.tracker.epoch
        if known is None or not (active or self.tracker.active):
            return False
        now = active
        if not active or max(epoch_of(r.segment_id) for r in active) > known:
            try:
                now = self._stream.epoch_segments(known)
            except StreamNotFoundError:
                raise
            except NotFoundError:  # it never had this epoch
                return True
        return {r.segment_id for r in now} != set(self.tracker.active)

    def _has_scaled(self, active: list[SegmentRange]) -> bool:
        return bool(active) and max(epoch_of(r.segment_id) for r in active) != self.tracker.epoch

    def _look_at_head(self, now_ms: int) -> None:
        """Note which sealed segments a truncation has removed, once a second while there are any."""
        if self.tracker.has_stored_segments and _elapsed_ms() >= self._head_due_ms:
            self._head_due_ms = _elapsed_ms() + HEAD_EVERY_MS
            self.journal.extend(self.tracker.saw_head(self._stream.head().positions, now_ms=now_ms))

    def _look_at_tiers(self) -> None:
        """Note which bytes have moved to tier 2, once a second for at most 64 segments."""
        ids, elapsed_ms = self.tracker.stored, _elapsed_ms()
        if not ids or elapsed_ms < self._tiers_due_ms:
            return
        self._tiers_due_ms = elapsed_ms + TIERS_EVERY_MS
        offsets: dict[int, int] = {}
        for k in range(min(len(ids), INFOS_PER_ROUND)):
            segment_id = ids[(self._tiers_turn + k) % len(ids)]
            with contextlib.suppress(NotFoundError):
                offset = self._stream.tiered_offset(segment_id)
                if offset is None:
                    self._tiers_due_ms = elapsed_ms + NO_TIERS_EVERY_MS
                    return
                offsets[segment_id] = offset
        self._tiers_turn = (self._tiers_turn + INFOS_PER_ROUND) % len(ids)
        self.journal.extend(self.tracker.saw_tiers(offsets, now_ms=_now_ms()))

    def _look_at_sealed(self, now_ms: int) -> None:
        """Note the epochs that a sealed stream had since the last look, and the ends of its segments."""
        if not self.tracker.active and self.tracker.epoch is not None:
            return  # the journal has its end
        last, ranges = self._last_epoch(self.tracker.epoch or 0)
        if self.tracker.epoch is None:
            infos = [self._info(r.segment_id) for r in ranges]
            now_ms = max((info.last_modified_ms for info in infos if info is not None), default=now_ms)
            self._tell_past(last, ranges, now_ms)
        else:
            self._follow(last, ranges, now_ms)
        lengths = self._lengths(self.tracker.active)
        seen = self.tracker.saw_sealed(lengths, now_ms=now_ms)
        self.journal.extend(o for o in seen if _event(o) not in self._recorded)

    def _last_epoch(self, epoch: int) -> _Epoch:
        """Return the newest epoch of a sealed stream, which is ``epoch`` or a later one. No active segment
        says which it is, so epochs are tried in turn.
        """
        ranges = self._stream.epoch_segments(epoch)
        while True:
            try:
                following = self._stream.epoch_segments(epoch + 1)
            except PravegaError:
                return epoch, ranges
            if not following:
                return epoch, ranges
            epoch, ranges = epoch + 1, following

    def _policy(self) -> Policy:
        scaling = self._stream.configuration().scaling
        kind = _KINDS.get(scaling.kind.name, "unknown")
        return Policy(kind, scaling.target_rate, scaling.scale_factor, scaling.min_segments)

    def _follow_epochs(self, active: list[SegmentRange], now_ms: int) -> None:
        """Note every epoch since the last look, and at the first look also the stream's past."""
        newest = max(epoch_of(r.segment_id) for r in active)
        if self.tracker.epoch is None:
            self._tell_past(newest, active, now_ms)
        else:
            self._follow(newest, active, now_ms)

    def _follow(self, newest: int, active: list[SegmentRange], now_ms: int) -> None:
        """Note the epochs since the last look, of which ``newest`` has the segments ``active``."""
        tracker = self.tracker
        assert tracker.epoch is not None
        if newest > tracker.epoch:
            asked = (new for name, new in list(ASKED_HERE) if name == tracker.stream)
            tracker.scaled_by_us(i for new in asked for i in new)
        # The computer may have slept, or the store was out of reach: the segments may have begun long ago.
        is_late = now_ms - self._looked_ms > LOOKS_LATE * max(self._every_ms, EVERY_MS)
        for epoch in range(tracker.epoch + 1, newest + 1):
            ranges = active if epoch == newest else self._stream.epoch_segments(epoch)
            kept = {r.segment_id for r in ranges}
            lengths = self._lengths([i for i in tracker.active if i not in kept])
            self.journal.extend(
                tracker.saw_epoch(epoch, ranges, now_ms=now_ms, lengths=lengths, exact=not is_late)
            )

    def _tell_past(self, newest: int, active: list[SegmentRange], now_ms: int) -> None:
        """Note the earlier epochs.

        A segment was sealed when it was last changed. That dates its epoch, so the times are inferred.
        """
        first = max(0, newest - EPOCHS_BACK_MAX)
        if first:
            self.journal.reason = f"epochs 0 to {first - 1} were over when this observer came: not looked up"
        epochs = [(e, self._stream.epoch_segments(e)) for e in range(first, newest)] + [(newest, active)]
        changed, lengths = self._past_of(epochs, {r.segment_id for r in active})
        ends = [_sealed_ms(changed, ranges, following) for (_, ranges), (_, following) in pairwise(epochs)]
        starts = _dates([None, *ends], now_ms)
        for (epoch, ranges), start_ms in zip(epochs, starts, strict=True):
            exact = self._was_missing and epoch == 0  # otherwise it was there before this observer came
            seen = self.tracker.saw_epoch(epoch, ranges, now_ms=start_ms, lengths=lengths, exact=exact)
            self.journal.extend(o for o in seen if _event(o) not in self._recorded)

    def _past_of(self, epochs: Iterable[_Epoch], active: set[int]) -> tuple[dict[int, int], dict[int, int]]:
        """Return when each sealed segment was last changed, and how long it is, if the store still knows
        it.
        """
        changed, lengths = {}, {}
        for segment_id in dict.fromkeys(r.segment_id for _, ranges in epochs for r in ranges):
            info = None if segment_id in active else self._info(segment_id)
            if info is not None:
                changed[segment_id], lengths[segment_id] = info.last_modified_ms, info.write_offset
        return changed, lengths

    def _info(self, segment_id: int) -> SegmentInfo | None:
        with contextlib.suppress(NotFoundError):
            return self._stream.segment_info(segment_id)
        return None

    def _lengths(self, segment_ids: Iterable[int]) -> dict[int, int]:
        infos = {i: self._info(i) for i in segment_ids}
        return {i: info.write_offset for i, info in infos.items() if info is not None}

    def _measure(self, active: list[SegmentRange]) -> None:
        n = len(active)
        turn = [active[(self._turn + k) % n] for k in range(min(n, INFOS_PER_ROUND))]
        self._turn = (self._turn + len(turn)) % n
        lengths: dict[int, int] = {}
        for r in turn:
            info = self._info(r.segment_id)
            if info is None:
                continue
            lengths[r.segment_id] = info.write_offset
            end, now_ms = info.write_offset, _now_ms()
            seen = self.tracker.measured(r.segment_id, info.start_offset, end, now_ms=now_ms)
            self.journal.extend(seen)
        if self._event_bytes is None and n <= INFOS_PER_ROUND:
            self._sample(lengths)
        self._boundaries = lengths

    def _sample(self, lengths: dict[int, int]) -> None:
        """Read a few events of the segment that grew most since the last look."""
        grown = {i: end - self._boundaries[i] for i, end in lengths.items() if i in self._boundaries}
        elapsed_ms = _elapsed_ms()
        if elapsed_ms < self._sample_due_ms or len(grown) < len(lengths) or not any(grown.values()):
            return
        segment_id = max(grown, key=grown.__getitem__)
        self._sample_due_ms = elapsed_ms + (SAMPLE_EVERY_MS if self.tracker.event_bytes else self._every_ms)
        name = self._stream.scoped_name
        start, end = StreamCut(name, {i: self._boundaries[i] for i in lengths}), StreamCut(name, lengths)
        reading = self._stream.read(start, end, batch_bytes=SAMPLE_BYTES, segments=[segment_id])
        with reading as batches:
            batch = next(iter(batches), None)
        if batch is not None:
            payload = sum(map(len, batch.column("event").to_pylist()))
            self.tracker.sampled(batch.num_rows, payload + EVENT_HEADER_BYTES * batch.num_rows)


def _event(o: Observation) -> tuple[Any, ...]:
    """Return what identifies the event that an observation of a stream's past reports."""
    which = getattr(o, "segment_id", None), getattr(o, "epoch", None)
    return (o.kind, getattr(o, "stream", None), *which)


def _sealed_ms(
    changed: dict[int, int], ranges: list[SegmentRange], following: list[SegmentRange]
) -> int | None:
    """Return about when the epoch ended: at the last change of the segments that the next epoch does not
    have.
    """
    kept = {r.segment_id for r in following}
    times = [changed[r.segment_id] for r in ranges if r.segment_id not in kept and r.segment_id in changed]
    return max(times, default=None)


def _dates(times: list[int | None], now_ms: int) -> list[int]:
    """Return rising times, none later than now. An unknown time is just before the next known one."""
    dated: list[int] = []
    later = now_ms
    for place in range(len(times) - 1, -1, -1):
        time_ms = times[place]
        later = min(later - 1, time_ms) if time_ms is not None else later - 1
        dated.append(later)
    return dated[::-1]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _elapsed_ms() -> int:
    """Return a time to wait by: unlike that of observations, it never goes back."""
    return time.monotonic_ns() // 1_000_000
