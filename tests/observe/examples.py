"""Journals to test with: a stream that splits under load and merges at night, and a query that is killed.

Made by rule, so that every picture of them is the same each time. Times are those of a simulated run.
"""

from __future__ import annotations

import math

from pravega_lab.observe.journal.journal import CAPACITY, Journal
from pravega_lab.observe.journal.observations import (
    BatchDone,
    BatchPhase,
    BatchPlanned,
    QueryEnded,
    QueryStarted,
    SegmentMeasured,
    SegmentOpened,
    SegmentSealed,
    StreamScaled,
    StreamSeen,
)

STREAM = "demo/flights"
START_MS = 1_795_000_000_000
EVENT_BYTES = 180


def segment(epoch: int, number: int) -> int:
    return (epoch << 32) | number


class Story:
    """Writes a journal in which one stream lives."""

    def __init__(
        self, *, target: int = 100, live: bool = False, stream: str = STREAM, capacity: int = CAPACITY
    ) -> None:
        self.journal = Journal(f"{stream} at tcp://127.0.0.1:9090", live=live, capacity=capacity)
        self.stream, self.target = stream, target
        self.now_ms = START_MS
        self.open: dict[int, tuple[float, float]] = {}
        self.written: dict[int, float] = {}
        self.epoch = 0
        self.next_number = 0
        self.journal.append(
            StreamSeen(
                time_ms=self.now_ms, stream=stream, policy="events", target_rate=target, scale_factor=2
            )
        )

    def begin(self, n: int = 1) -> None:
        for i in range(n):
            self._open(segment(0, i), i / n, (i + 1) / n, ())

    def _open(self, segment_id: int, low: float, high: float, before: tuple[int, ...]) -> None:
        self.open[segment_id] = (low, high)
        self.next_number = max(self.next_number, (segment_id & 0xFFFFFFFF) + 1)
        self.written[segment_id] = 0.0
        self.journal.append(
            SegmentOpened(
                time_ms=self.now_ms,
                stream=self.stream,
                segment_id=segment_id,
                low=low,
                high=high,
                predecessors=before,
            )
        )

    def scale(
        self, sealed: list[int], ranges: list[tuple[float, float]], cause: str, kind: str = "inferred"
    ) -> list[int]:
        """Seal these and open segments for these ranges; their ids."""
        self.epoch += 1
        number = self.next_number
        created = [segment(self.epoch, number + k) for k in range(len(ranges))]
        for old in sealed:
            del self.open[old]
            self.journal.append(
                SegmentSealed(
                    time_ms=self.now_ms,
                    stream=self.stream,
                    segment_id=old,
                    length_bytes=int(self.written[old]),
                )
            )
        for new, (low, high) in zip(created, ranges, strict=True):
            self._open(new, low, high, tuple(sealed))
        rule = "measured rate against the policy's thresholds" if kind == "inferred" else ""
        self.journal.append(
            StreamScaled(
                time_ms=self.now_ms,
                stream=self.stream,
                epoch=self.epoch,
                sealed=tuple(sealed),
                created=tuple(created),
                cause=cause,
                cause_kind=kind,
                rule=rule,
            )
        )
        return created

    def measure(self, rate_of: object, step_ms: int = 500) -> None:
        """Every open segment takes events at ``rate_of(low, high)`` per second for one step."""
        self.now_ms += step_ms
        for segment_id, (low, high) in self.open.items():
            rate = rate_of(low, high)  # type: ignore[operator]
            self.written[segment_id] += rate * EVENT_BYTES * step_ms / 1000
            self.journal.append(
                SegmentMeasured(
                    time_ms=self.now_ms,
                    stream=self.stream,
                    segment_id=segment_id,
                    start_offset=0,
                    write_offset=int(self.written[segment_id]),
                    bytes_per_s=rate * EVENT_BYTES,
                    events_per_s=rate,
                    events_how="estimated: bytes/s ÷ mean event size of a sample",
                )
            )
        self.journal.tick(self.now_ms)


def splitting_story(*, live: bool = False) -> Story:
    """Two minutes: under load segments split, twice by rate and once by hand; at night they merge."""
    story = Story(live=live)
    story.begin(1)
    first = segment(0, 0)
    tree = {"a": first}
    for tick in range(240):
        t = tick / 2
        day = max(0.0, math.sin(math.pi * t / 60)) * 420 + 4 + 6 * math.sin(t)

        def rate(low: float, high: float, day: float = day) -> float:
            return max(0.0, day * (high - low) * (1.3 if high <= 0.5 else 0.7 if low >= 0.5 else 1))

        story.measure(rate)
        if tick == 24:
            tree["b"], tree["c"] = story.scale([tree["a"]], [(0, 0.5), (0.5, 1)], "246/s > 2 × 100/s")
        if tick == 36:
            tree["d"], tree["e"] = story.scale([tree["b"]], [(0, 0.25), (0.25, 0.5)], "262/s > 2 × 100/s")
        if tick == 60:
            tree["f"], tree["g"] = story.scale([tree["c"]], [(0.5, 0.7), (0.7, 1)], "by hand", "done here")
        if tick == 122:
            (tree["h"],) = story.scale([tree["d"], tree["e"]], [(0, 0.5)], "3/s, 3/s < 100/s ÷ 2")
        if tick == 150:
            (tree["i"],) = story.scale([tree["f"], tree["g"]], [(0.5, 1)], "2/s, 3/s < 100/s ÷ 2")
    return story


def many_segments(n: int) -> Journal:
    """A history of at least ``n`` segments: at every step the widest open segment splits."""
    story = Story(target=1000)
    story.begin(1)
    order = [segment(0, 0)]
    while len(order) < n:
        story.now_ms += 20
        old = order[len(order) // 2] if len(order) < 3 else next(iter(story.open))
        low, high = story.open[old]
        middle = (low + high) / 2
        order += story.scale([old], [(low, middle), (middle, high)], "split")
        if len(story.open) > 200:  # merge two neighbours, so that the number of open ones stays the same
            by_place = sorted(story.open, key=lambda s: story.open[s])
            a, b = by_place[50], by_place[51]
            order += story.scale([a, b], [(story.open[a][0], story.open[b][1])], "merge")
    story.journal.tick(story.now_ms + 1000)
    return story.journal


class QueryStory:
    """Writes the life of a query into a journal: batches, a kill in the middle of one, its replay."""

    def __init__(self, journal: Journal, query: str = "delays") -> None:
        self.journal, self.query = journal, query
        self.now_ms = START_MS
        self.run = 0
        self.batch_id = 0

    def start(self, cause: str = "") -> None:
        self.run += 1
        self.journal.append(QueryStarted(time_ms=self.now_ms, query=self.query, run=self.run, cause=cause))

    def batch(self, ms: tuple[int, int, int, int], rows: int, lag: int, *, replayed: bool = False) -> None:
        """One batch: plan, offset log, work and commit log, in milliseconds."""
        began = self.now_ms
        names = ("plan", "offsets", "work", "log")
        for name, duration in zip(names, (ms[0], 0 if replayed else ms[1], *ms[2:]), strict=True):
            if name == "work" and not replayed:
                self._planned()
            if duration:
                self.journal.append(
                    BatchPhase(
                        time_ms=self.now_ms,
                        query=self.query,
                        batch_id=self.batch_id,
                        run=self.run,
                        phase=name,
                        duration_ms=duration,
                    )
                )
            self.now_ms += duration
        spent_ms = self.now_ms - began
        self.journal.append(
            BatchDone(
                time_ms=self.now_ms,
                query=self.query,
                batch_id=self.batch_id,
                run=self.run,
                duration_ms=spent_ms,
                replayed=replayed or None,
                input_rows=rows,
                output_rows=rows // 9,
                input_rows_per_s=rows / 2.1,
                processed_rows_per_s=1000 * rows / spent_ms,
                lag_bytes=lag,
            )
        )
        self.batch_id += 1

    def _planned(self) -> None:
        self.journal.append(
            BatchPlanned(time_ms=self.now_ms, query=self.query, batch_id=self.batch_id, run=self.run)
        )

    def killed_in_batch(self, after_ms: int) -> None:
        """A batch is planned, and before it is done the driver is killed."""
        self._planned()
        self.now_ms += after_ms
        self.journal.append(
            QueryEnded(
                time_ms=self.now_ms,
                query=self.query,
                run=self.run,
                outcome="killed",
                cause="kill -9 of Python and JVM",
                cause_kind="done here",
            )
        )


def killed_query(journal: Journal) -> QueryStory:
    """A dozen batches, a kill, and a replay with a dozen more."""
    story = QueryStory(journal)
    story.now_ms += 4_000
    story.start()
    story.now_ms += 3_000
    for k in range(14):
        story.batch((60, 30, 1_900 + 130 * (k % 5), 40), 400 + 35 * k, 40_000 + 9_000 * (k % 4))
        story.now_ms += 350
    story.killed_in_batch(1_400)
    story.now_ms += 6_000
    story.start("restarted by lab.submit(...)")
    story.now_ms += 2_500
    story.batch((40, 0, 2_600, 45), 900, 600_000, replayed=True)
    for k in range(16):
        story.batch((60, 30, 2_400 - 70 * k, 40), 1_500 - 80 * k, max(20_000, 560_000 - 60_000 * k))
        story.now_ms += 300
    journal.tick(story.now_ms)
    return story


class ManySegments(Story):
    """A live journal of very many segments: with every tick one splits, and every other tick two merge."""

    def __init__(self, n: int) -> None:
        super().__init__(target=1000, live=True, capacity=max(CAPACITY, 10 * n))
        self.begin(max(1, n // 20))
        self.places = list(self.open)  # by their place in the key space
        self.ticks = 0
        self.made = len(self.open)
        while self.made < n:
            self.tick()

    def tick(self) -> None:
        self.ticks += 1
        self.now_ms += 100
        place = self.ticks * 7919 % len(self.places)
        low, high = self.open[self.places[place]]
        self._replace(place, 1, [(low, (low + high) / 2), ((low + high) / 2, high)], "split")
        if self.ticks % 2:
            place = self.ticks * 104_729 % (len(self.places) - 1)
            (low, _), (_, high) = (self.open[s] for s in self.places[place : place + 2])
            self._replace(place, 2, [(low, high)], "merge")
        self.journal.tick(self.now_ms)

    def _replace(self, place: int, n: int, ranges: list[tuple[float, float]], cause: str) -> None:
        created = self.scale(self.places[place : place + n], ranges, cause)
        self.places[place : place + n] = created
        self.made += len(created)


def many_segments_story(n: int) -> ManySegments:
    return ManySegments(n)
