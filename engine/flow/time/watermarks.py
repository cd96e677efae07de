"""How a source generates watermarks, and how a subtask combines the watermarks of its channels.

Source: Flink's `BoundedOutOfOrdernessWatermarks`, `WatermarkStatus`, `StatusWatermarkValve`,
`CombinedWatermarkStatus`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

from pravega_lab.errors import BadInputError
from pravega_lab.portable.columns import np, npt, pa

from ..batch import NO_TIMESTAMP, Batch, Row
from ..elements import MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS, Watermark, WatermarkStatus


@dataclass(frozen=True)
class WatermarkStrategy:
    """Say where event times come from, and how late and how idle a source may be.

    ``timestamp`` is a column, a function that returns the ms since 1970 of a row, or None to keep the times
    that the source has set. With None, only the watermarks count that the source itself emits. The column has
    ms since 1970, or dates and times, which count as UTC where they have no zone. A record may be up to
    ``out_of_orderness_ms`` older than the newest one without being late. A split holds back the watermark
    from its assignment on, but not after it was silent for ``idle_after_ms``.

    Raises:
        BadInputError: ``out_of_orderness_ms`` is negative, or ``idle_after_ms`` is below 1.
    """

    timestamp: str | Callable[[Row], int] | None = None
    out_of_orderness_ms: int = 0
    idle_after_ms: int | None = None

    def __post_init__(self) -> None:
        check_ms("out_of_orderness_ms", self.out_of_orderness_ms, 0)
        if self.idle_after_ms is not None:
            check_ms("idle_after_ms", self.idle_after_ms, 1)

    def assign(self, batch: Batch) -> Batch:
        """Return the batch with the event times of its records.

        Raises:
            BadInputError: the batch has no such column, or what gives the event times gives something else.
        """
        if self.timestamp is None:
            return batch
        if isinstance(self.timestamp, str):
            times = _times_in(batch.arrow, self.timestamp)
        else:
            times = _times_of(batch.rows, self.timestamp)
        return Batch(batch._rows, batch._arrow, times, batch.kinds)


def check_ms(name: str, value: float, least: int) -> None:
    """Check a setting in ms.

    Raises:
        BadInputError: the value is no number of at least ``least``.
    """
    if not isinstance(value, Real) or not value >= least:
        raise BadInputError(f"{name}={value!r}: it must be a number of at least {least} ms")


def _times_in(rows: pa.RecordBatch, name: str) -> npt.NDArray[np.int64]:
    names, types = rows.schema.names, pa.types
    if name not in names:
        raise BadInputError(f"there is no column {name!r} with event times; the columns are {names}")
    column = rows.column(name)
    kind = column.type
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_null(kind):
        zone = kind.tz if types.is_timestamp(kind) else None
        column = column.cast(pa.timestamp("ms", zone), safe=False).cast(pa.int64())
    elif types.is_string(kind) or types.is_boolean(kind) or types.is_nested(kind):
        raise BadInputError(
            f"column {name!r} gives the event times, and its values are of the type {kind}; give it ms since "
            "1970, or dates and times"
        )
    known = column.drop_null() if column.null_count else column
    values: npt.NDArray[np.int64] = known.to_numpy(zero_copy_only=False).astype(np.int64)
    if known is column:
        return values
    times = np.full(len(column), NO_TIMESTAMP, np.int64)
    times[column.is_valid().to_numpy(zero_copy_only=False)] = values
    return times


def _times_of(rows: Sequence[Row], timestamp: Callable[[Row], int]) -> npt.NDArray[np.int64]:
    row: Row = {}
    try:
        times = []
        for row in rows:
            times.append(int(timestamp(row)))
        return np.array(times, dtype=np.int64)
    except BadInputError:
        raise
    except Exception as error:
        raise BadInputError(
            f"the event time of a row cannot be read ({type(error).__name__}: {error}); the function of the "
            f"watermark strategy must return ms since 1970, and the row is {row!r:.200}"
        ) from error


class _Split:
    def __init__(self, now_ms: int) -> None:
        self.watermark_ms = MIN_TIMESTAMP_MS
        self.is_idle = False
        self.heard_ms = now_ms


class WatermarkGenerator:
    """Generate the watermark of a source's subtask: the lowest of its active splits. It never decreases.

    A split counts from its assignment on. Otherwise the splits that are read first would make the others
    late. A reader that emits under other names than those of its splits is exempt.

    It emits nothing above ``limit_ms``. ``lowest_ms`` is what it would emit without that limit, ``is_active``
    whether it has an active split.
    """

    def __init__(self, strategy: WatermarkStrategy | None) -> None:
        self._strategy = strategy or WatermarkStrategy()
        self._is_off = strategy is None
        self._splits: dict[str | None, _Split] = {}
        self._counts_assigned = self._strategy.timestamp is not None
        self._assigned: dict[str | None, bool] = {}  # whether the reader has emitted records of the split
        self.lowest_ms, self.is_active = MIN_TIMESTAMP_MS, False
        self.limit_ms = MAX_TIMESTAMP_MS
        self._told_ms = MIN_TIMESTAMP_MS
        self._told_idle = False
        self._heard_ms: int | None = None  # since when the subtask has had no split
        self._has_nothing = False

    def assigned(self, split_ids: Iterable[str], now_ms: int) -> None:
        """Note splits that the reader was given. They hold back the watermark until their first record."""
        for split_id in split_ids:
            if self._counts_assigned and split_id not in self._assigned:
                self._assigned[split_id] = False
                self._splits.setdefault(split_id, _Split(now_ms))

    def on_batch(self, batch: Batch, split_id: str | None, now_ms: int) -> Batch:
        """Return the batch with its event times, and note them."""
        if self._is_off:
            return batch
        batch = self._strategy.assign(batch)
        if self._counts_assigned:
            self._note_read(split_id)
        split = self._splits.setdefault(split_id, _Split(now_ms))
        split.is_idle, split.heard_ms, self._has_nothing = False, now_ms, False
        if batch.timestamps is not None and self._strategy.timestamp is not None:
            known = batch.timestamps[batch.timestamps != NO_TIMESTAMP]
            if len(known):
                newest = int(known.max()) - self._strategy.out_of_orderness_ms - 1
                split.watermark_ms = max(split.watermark_ms, newest)
        return batch

    def _note_read(self, split_id: str | None) -> None:
        self._counts_assigned = split_id in self._assigned
        if self._counts_assigned:
            self._assigned[split_id] = True
        else:
            for unread in [name for name, is_read in self._assigned.items() if not is_read]:
                del self._splits[unread]
            self._assigned.clear()

    def on_watermark(self, watermark: Watermark, split_id: str | None, now_ms: int) -> None:
        """Note a watermark that the source itself emitted."""
        split = self._splits.setdefault(split_id, _Split(now_ms))
        split.is_idle, split.heard_ms = False, now_ms
        split.watermark_ms = max(split.watermark_ms, watermark.timestamp_ms)

    def mark_idle(self, split_id: str | None, now_ms: int) -> None:
        """Mark a split as idle until its next record."""
        self._splits.setdefault(split_id, _Split(now_ms)).is_idle = True

    def release(self, split_id: str) -> None:
        """Forget a split that is finished."""
        self._splits.pop(split_id, None)
        self._assigned.pop(split_id, None)

    def check_idle(self, now_ms: int) -> None:
        """Mark splits idle that were silent for too long, and the subtask if it had no split for as long."""
        after = self._strategy.idle_after_ms
        if after is not None:
            if self._splits:
                self._heard_ms, self._has_nothing = None, False
            elif self._heard_ms is None:
                self._heard_ms = now_ms
            else:
                self._has_nothing = now_ms - self._heard_ms >= after
            for split in self._splits.values():
                split.is_idle = split.is_idle or now_ms - split.heard_ms >= after

    def next_check_ms(self) -> int | None:
        """Return when `check_idle` can next change something, or None."""
        after = self._strategy.idle_after_ms
        if after is not None and not self._splits and not self._has_nothing:
            return 0 if self._heard_ms is None else self._heard_ms + after
        waiting = [split.heard_ms for split in self._splits.values() if not split.is_idle]
        return min(waiting) + after if after is not None and waiting else None

    def news(self) -> list[Watermark | WatermarkStatus]:
        """Return the watermark and the status to emit now, if they have changed."""
        told: list[Watermark | WatermarkStatus] = []
        active = [split for split in self._splits.values() if not split.is_idle]
        self.is_active = bool(active)
        self.lowest_ms = min((split.watermark_ms for split in active), default=self.lowest_ms)
        lowest = min(self.lowest_ms, self.limit_ms)
        has_told = max(lowest, self._told_ms) >= self.lowest_ms
        is_idle = (bool(self._splits) or self._has_nothing) and not active and has_told
        if self._told_idle and not is_idle:
            told.append(WatermarkStatus(False))
        if lowest > self._told_ms:
            self._told_ms = lowest
            told.append(Watermark(lowest))
        if is_idle and not self._told_idle:
            told.append(WatermarkStatus(True))
        self._told_idle = is_idle
        return told


@dataclass
class _Channel:
    watermark_ms: int = MIN_TIMESTAMP_MS
    is_idle: bool = False
    is_aligned: bool = True  # active, and at or above the current watermark
    has_ended: bool = False  # has reached the end of event time


class WatermarkValve:
    """Combine the watermarks of the channels of one input: the lowest of the active ones. It never decreases.

    A channel that was idle counts again as soon as it has reached the current watermark. Until then it holds
    nothing back. Watermarks of an idle channel do not count, with one exception: when all channels have
    reached the end of event time, so has the input.
    """

    def __init__(self, channels: int) -> None:
        self._channels = [_Channel() for _ in range(channels)]
        self._told_ms = MIN_TIMESTAMP_MS
        self._told_idle = False

    def watermark(self, channel: int, watermark: Watermark) -> list[Watermark | WatermarkStatus]:
        """Take a watermark of a channel, and return what the input emits."""
        at, timestamp_ms = self._channels[channel], watermark.timestamp_ms
        at.has_ended |= timestamp_ms == MAX_TIMESTAMP_MS
        if at.has_ended and all(c.has_ended for c in self._channels):
            return self._tell(MAX_TIMESTAMP_MS)
        if at.is_idle or timestamp_ms <= at.watermark_ms:
            return []
        at.watermark_ms = timestamp_ms
        at.is_aligned |= timestamp_ms >= self._told_ms
        return self._advance()

    def status(self, channel: int, status: WatermarkStatus) -> list[Watermark | WatermarkStatus]:
        """Take a status of a channel, and return what the input emits."""
        at = self._channels[channel]
        if at.is_idle == status.is_idle:
            return []
        at.is_idle = status.is_idle
        if at.is_idle:
            return self._fall_idle(at)
        at.is_aligned = at.watermark_ms >= self._told_ms
        told: list[Watermark | WatermarkStatus] = [WatermarkStatus(False)] if self._told_idle else []
        self._told_idle = False
        return told

    def _fall_idle(self, at: _Channel) -> list[Watermark | WatermarkStatus]:
        held_back = at.watermark_ms == self._told_ms
        at.is_aligned = False
        if not all(c.is_idle for c in self._channels):
            return self._advance()
        # If this channel held the watermark back, the highest watermark of the others counts now.
        told = self._tell(max(c.watermark_ms for c in self._channels)) if held_back else []
        self._told_idle = True
        return [*told, WatermarkStatus(True)]

    def _advance(self) -> list[Watermark | WatermarkStatus]:
        aligned = [c.watermark_ms for c in self._channels if c.is_aligned]
        return self._tell(min(aligned)) if aligned else []

    def _tell(self, timestamp_ms: int) -> list[Watermark | WatermarkStatus]:
        if timestamp_ms <= self._told_ms:
            return []
        self._told_ms = timestamp_ms
        return [Watermark(timestamp_ms)]


class CombinedWatermarks:
    """Combine the watermarks of several inputs: the lowest of those that are not idle. It never decreases."""

    def __init__(self, inputs: int) -> None:
        self._inputs = [_Channel() for _ in range(inputs)]
        self._told_ms = MIN_TIMESTAMP_MS
        self._told_idle = False

    def watermark(self, input: int, watermark: Watermark) -> list[Watermark | WatermarkStatus]:
        """Take a watermark of an input, and return what the operators receive."""
        at, timestamp_ms = self._inputs[input], watermark.timestamp_ms
        at.has_ended |= timestamp_ms == MAX_TIMESTAMP_MS
        if not at.is_idle or all(i.has_ended for i in self._inputs):
            at.watermark_ms = max(at.watermark_ms, timestamp_ms)
        return self._news()

    def status(self, input: int, status: WatermarkStatus) -> list[Watermark | WatermarkStatus]:
        """Take a status of an input, and return what the operators receive."""
        self._inputs[input].is_idle = status.is_idle
        return self._news()

    def _news(self) -> list[Watermark | WatermarkStatus]:
        told: list[Watermark | WatermarkStatus] = []
        active = [i.watermark_ms for i in self._inputs if not i.is_idle]
        if self._told_idle and active:
            told.append(WatermarkStatus(False))
        # When all inputs are idle, none holds the watermark back, so the highest one counts.
        told += self._tell(min(active) if active else max(i.watermark_ms for i in self._inputs))
        if not active and not self._told_idle:
            told.append(WatermarkStatus(True))
        self._told_idle = not active
        return told

    def _tell(self, timestamp_ms: int) -> list[Watermark]:
        if timestamp_ms <= self._told_ms:
            return []
        self._told_ms = timestamp_ms
        return [Watermark(timestamp_ms)]


class GateWatermarks:
    """Combine the watermarks of all channels of a subtask: a valve for each input, then all inputs.

    ``inputs`` has the input of each channel.
    """

    def __init__(self, inputs: Sequence[int]) -> None:
        numbers = list(dict.fromkeys(inputs))
        self._places = [
            (numbers.index(input), list(inputs[:n]).count(input)) for n, input in enumerate(inputs)
        ]
        self._valves = [WatermarkValve(list(inputs).count(number)) for number in numbers]
        self._combined = CombinedWatermarks(len(numbers)) if len(numbers) > 1 else None

    def watermark(self, channel: int, watermark: Watermark) -> list[Watermark | WatermarkStatus]:
        """Take a watermark of a channel, and return what the operators receive."""
        input, place = self._places[channel]
        return self._of_input(input, self._valves[input].watermark(place, watermark))

    def status(self, channel: int, status: WatermarkStatus) -> list[Watermark | WatermarkStatus]:
        """Take a status of a channel, and return what the operators receive."""
        input, place = self._places[channel]
        return self._of_input(input, self._valves[input].status(place, status))

    def _of_input(
        self, input: int, news: list[Watermark | WatermarkStatus]
    ) -> list[Watermark | WatermarkStatus]:
        combined = self._combined
        if combined is None:
            return news
        return [
            told
            for one in news
            for told in (
                combined.watermark(input, one) if isinstance(one, Watermark) else combined.status(input, one)
            )
        ]
