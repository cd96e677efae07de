"""Which watermarks a place has passed: the rules, without a store. With one: `tests/conformance`."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from pravega_lab.client import AsyncClient
from pravega_lab.client.reader_group import time_windows
from pravega_lab.client.reader_group.time_windows import StreamTime, is_before
from pravega_lab.engine.simulation.store.world import World
from pravega_lab.protocol.metadata.watermark import Watermark
from pravega_lab.protocol.names import MARK_PREFIX, SegmentRange, segment_id
from tests.simulated import STREAM, tell

WHOLE = SegmentRange(0, 0.0, 1.0)
LOW, HIGH = SegmentRange(segment_id(1, 1), 0.0, 0.5), SegmentRange(segment_id(1, 2), 0.5, 1.0)
MERGED = SegmentRange(segment_id(2, 3), 0.0, 1.0)


def mark(time: int, **offsets: int) -> Watermark:
    named = {"whole": WHOLE, "low": LOW, "high": HIGH, "merged": MERGED}
    return Watermark(time, time + 5, {named[name]: offset for name, offset in offsets.items()})


@pytest.mark.parametrize(
    ("place", "at", "before"),
    [
        ({WHOLE: 9}, mark(1, whole=10), True),
        ({WHOLE: 10}, mark(1, whole=10), False),  # equal counts as passed
        ({WHOLE: -1}, mark(1, whole=10), False),  # read to its end
        ({WHOLE: 10}, mark(1, whole=-1), True),
        ({WHOLE: -1}, mark(1, whole=-1), False),
        ({WHOLE: -1}, mark(1, low=0, high=0), True),  # its successors were not begun
        ({LOW: 0, HIGH: 0}, mark(1, whole=10), False),
        ({LOW: 0, HIGH: 0}, mark(1, low=0, high=0), False),
        ({LOW: 7, HIGH: 2}, mark(1, low=5, high=5), True),  # behind it in some keys, before it in others
        ({HIGH: 5}, mark(1, low=5, high=5), False),  # a merge in progress: LOW is completed
        ({HIGH: 5}, mark(1, merged=1), True),
        ({MERGED: 0}, mark(1, low=5, high=5), False),
        ({}, mark(1, whole=10), False),  # everything is read
    ],
)
def test_before_a_mark(place: dict[SegmentRange, int], at: Watermark, before: bool) -> None:
    assert is_before(place, at) is before


def test_nothing_is_known_without_marks() -> None:
    time = StreamTime()
    assert time.window({WHOLE: 5}) == (None, None)
    assert time.needs_more({WHOLE: 5})


def test_a_window_moves_with_the_place() -> None:
    time = StreamTime()
    time.add([mark(10, whole=100), mark(20, whole=200), mark(30, whole=300)])
    found = []
    for offset in (0, 99, 100, 250, 300, 400):
        time.advance({WHOLE: offset})
        found.append(time.window({WHOLE: offset}))
    assert found == [(None, 15), (None, 15), (10, 25), (20, 35), (30, None), (30, None)]


def test_the_upper_bound_is_of_the_first_mark_that_is_wholly_ahead() -> None:
    time = StreamTime()
    time.add([mark(10, low=5, high=5), mark(20, low=10, high=10), mark(30, low=20, high=20)])
    place = {LOW: 12, HIGH: 2}
    time.advance(place)
    assert time.window(place) == (None, 35)
    assert not time.needs_more(place)
    place = {LOW: 30, HIGH: 2}
    time.advance(place)
    assert time.window(place) == (None, 35)  # none is wholly ahead: the newest that is not passed
    assert time.needs_more(place)
    place = {LOW: 10, HIGH: 2}
    assert time.window(place) == (None, 25)  # it stands at the mark in some keys, and before it in the others


def test_a_mark_at_the_place_is_no_bound_of_what_follows() -> None:
    """Also where the window is asked for before the place has passed its marks."""
    time = StreamTime()
    time.add([mark(10, whole=100)])
    assert not time.needs_more({WHOLE: 99})
    assert time.needs_more({WHOLE: 100})
    time.add([mark(20, whole=200)])
    assert time.window({WHOLE: 100}) == (None, 25)


def test_marks_are_looked_for_at_intervals_and_only_where_one_could_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = [mark(10, whole=100), mark(20, whole=200)]
    looks: list[int] = []
    closed: list[bool] = []
    now_ms = 0

    class Log:
        """The mark stream: one new mark per read, then none."""

        def __init__(self, _: object) -> None: ...

        async def next(self) -> list[Watermark]:
            looks.append(now_ms)
            return [written.pop(0)] if written else []

        async def close(self) -> None:
            closed.append(True)

    class Context:
        async def ranges(self, _: list[int]) -> list[SegmentRange]:
            return [WHOLE]

    monkeypatch.setattr(time_windows, "Marks", Log)
    clock = time_windows.StreamClock(Context())  # type: ignore[arg-type]
    found = []
    for now_ms, offset in ((0, 0), (500, 90), (1_000, 150), (1_100, 250), (1_999, 260), (2_000, 270)):
        found.append(asyncio.run(clock.window({0: offset}, now_ms=now_ms, every_ms=1_000)))
        if now_ms == 1_100:
            written.append(mark(30, whole=300))
    asyncio.run(clock.close())
    assert closed == [True]
    assert looks == [0, 1_000, 2_000]
    assert found == [(None, 15), (None, 15), (10, 25), (20, None), (20, None), (20, 35)]


def test_marks_are_read_once_each_and_after_a_truncation_from_the_oldest(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        log = client.revisioned_stream(f"sim/{MARK_PREFIX}story")
        marks = time_windows.Marks(client.stream(STREAM)._context)
        assert await marks.next() == []
        written = [mark(number, whole=10 * number) for number in range(1, 6)]
        for one in written[:2]:
            await log.append(one.to_bytes())
        assert await marks.next() == written[:2]
        assert await marks.next() == []
        await log.append(written[2].to_bytes())
        assert await marks.next() == written[2:3]
        await log.append(written[3].to_bytes())
        behind = await log.latest()
        await log.append(written[4].to_bytes())
        await log.truncate(behind)
        assert await marks.next() == written[4:]
        await marks.close()
        await log.close()

    tell(world, story)


def test_a_place_that_goes_back_loses_no_lower_bound() -> None:
    """A time that was passed stays passed, whatever is delivered again after a death."""
    time = StreamTime()
    time.add([mark(10, whole=100), mark(20, whole=200)])
    time.advance({WHOLE: 150})
    time.advance({WHOLE: 50})
    assert time.window({WHOLE: 50}) == (10, 25)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_for_what_is_read(seed: int) -> None:
    """Events carry the time of their writing; marks are written now and then. Read segment by segment."""
    chance = Random(seed)
    ends, marks, events, now = {LOW: 0, HIGH: 0}, [], [], 0
    for _ in range(200):
        now += chance.randint(0, 3)
        segment = chance.choice([LOW, HIGH])
        events.append((segment, ends[segment], now))
        ends[segment] += 10
        if chance.random() < 0.2:
            marks.append(Watermark(now, now, dict(ends)))
    time, place, added, checked = StreamTime(), {LOW: 0, HIGH: 0}, 0, 0
    unread = {segment: [e for e in events if e[0] == segment] for segment in place}
    while any(unread.values()):
        segment = chance.choice([s for s in place if unread[s]])
        while added < len(marks) and time.needs_more(place):
            time.add(marks[added : added + 1])
            added += 1
            time.advance(place)
        lower, upper = time.window(place)
        oldest = min(events[0][2] for events in unread.values() if events)
        assert lower is None or lower <= oldest
        assert upper is None or oldest <= upper
        checked += lower is not None and upper is not None
        place[segment] = unread[segment].pop(0)[1] + 10
        time.advance(place)
    assert checked > 50
