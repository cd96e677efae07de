"""What happens in the recorded runs of the tutorials. Reading further spoils them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from zlib import crc32

from pravega_lab.client.writing.writer import AsyncEventWriter
from pravega_lab.protocol.hashing import key_position
from pravega_lab.tutorials.recording.recorder import STREAM, Recorder

KEYS = (
    "N14228", "N24211", "N619AA", "N804JB", "N668DN", "N39463", "N516JB", "N829AS",
    "N593JB", "N3ALAA", "N793JB", "N657JB", "N29129", "N53441", "N3DUAA", "N708JB",
    "N76515", "N595JB", "N542MQ", "N644JB", "N971DL", "N730MQ",
)  # fmt: skip
WRITE_EVERY_S = 0.06


async def at_the_desk(run: Recorder) -> None:
    """Tutorial 05: bob dies unnoticed, and is later declared offline without its position."""
    for name in ("ann", "bob", "cem"):
        run.start_reader(name)
    await run.until(1.0)
    run.start_writer(600, every_s=WRITE_EVERY_S)
    await run.until(5.0)
    await run.stream.split((await run.stream.segments())[2].segment_id)
    await checkpoint(run, "one", 8.0)
    await checkpoint(run, "two", 16.0)
    await run.until(22.0)
    run.kill("bob")
    await run.until(26.0)
    pending = await run.group.initiate_checkpoint("three")
    await run.until(33.0)
    await run.group.reader_offline("bob")
    await pending.result(30.0)
    await run.has_read_all("four")


async def dead_without_position(run: Recorder) -> None:
    """A reader dies and is declared offline at once; the others resume from its last checkpoint."""
    await begin(run, 360)
    await checkpoint(run, "one", 8.0)
    await run.until(13.0)
    run.kill("eva")
    await run.until(14.0)
    await run.group.reader_offline("eva")
    await checkpoint(run, "two", 18.0)
    await run.has_read_all("three")


async def held_up(run: Recorder) -> None:
    """A reader takes eight seconds for one event, so a checkpoint waits for its next read. No harm done."""
    await begin(run, 360)
    await checkpoint(run, "one", 8.0)
    await run.until(14.0)
    run.every_s["fay"] = 8.0
    await run.until(14.8)
    run.every_s["fay"] = 0.05
    await checkpoint(run, "two", 15.0)
    await run.has_read_all("three")


async def retried_blindly(run: Recorder) -> None:
    """The store's disk is slow for a while, and a program that waits half a second writes once more."""
    for name in ("dot", "eva", "fay"):
        run.start_reader(name)
    await run.until(1.0)
    run.programs["writer"] = run.pravega.start("writer", _impatient(run, 360))
    await checkpoint(run, "one", 8.0)
    await run.until(13.0)
    run.pravega.disk.write_us_min, run.pravega.disk.write_us_max = 350_000, 600_000
    await run.until(17.0)
    run.pravega.disk.write_us_min, run.pravega.disk.write_us_max = 100, 3_000
    await checkpoint(run, "two", 18.0)
    await run.has_read_all("three")


async def _impatient(run: Recorder, n: int) -> None:
    """Write four events at a time; without an answer after half a second a new writer writes them again."""
    async with run.pravega.client("writer") as client, AsyncExitStack() as writers:

        async def fresh() -> AsyncEventWriter:
            return await writers.enter_async_context(client.stream(STREAM).writer())

        writer = await fresh()
        for first in range(0, n, 4):
            numbers = range(first, first + 4)
            keys, events = run.hand_over(numbers)
            while True:
                await writer.write(events, keys)
                try:
                    async with asyncio.timeout(0.5):
                        await writer.flush()
                    break
                except TimeoutError:
                    writer = await fresh()
            run.ledger.acknowledged(list(numbers))
            await asyncio.sleep(4 * WRITE_EVERY_S)


async def routed_by_number(run: Recorder) -> None:
    """The writer has a rule of its own, crc32(key) modulo the number of segments, and a segment is split."""
    for name, every_s in (("dot", 0.05), ("eva", 0.05), ("fay", 0.3)):
        run.start_reader(name, every_s=every_s)
    await run.until(1.0)
    segments = await run.stream.segments()
    slots = {len(segments): [_key_within(s.low, s.high) for s in segments]}

    def route(key: str) -> str:
        chosen = slots[max(slots)]
        return chosen[crc32(key.encode()) % len(chosen)]

    run.start_writer(360, every_s=WRITE_EVERY_S, route=route)
    await checkpoint(run, "one", 8.0)
    await run.until(12.0)
    await run.stream.split(segments[1].segment_id)
    slots[len(segments) + 1] = [_key_within(s.low, s.high) for s in await run.stream.segments()]
    await checkpoint(run, "two", 21.0)
    await run.has_read_all("three")


async def truncated_unread(run: Recorder) -> None:
    """One reader pauses for six seconds, and in that time the stream is truncated at its tail."""
    await begin(run, 360)
    await checkpoint(run, "one", 8.0)
    await run.until(10.0)
    run.every_s["fay"] = 6.0
    await run.until(10.8)
    run.every_s["fay"] = 0.05
    await run.until(15.0)
    await run.stream.truncate(await run.stream.tail())
    await checkpoint(run, "two", 18.0)
    await run.has_read_all("three")


async def begin(run: Recorder, n: int) -> None:
    """Start three readers, and a second later a writer."""
    for name in ("dot", "eva", "fay"):
        run.start_reader(name)
    await run.until(1.0)
    run.start_writer(n, every_s=WRITE_EVERY_S)


async def checkpoint(run: Recorder, name: str, at_s: float) -> None:
    """Request a checkpoint at that second, and wait until it is complete."""
    await run.until(at_s)
    await (await run.group.initiate_checkpoint(name)).result(30.0)


def _key_within(low: float, high: float) -> str:
    return next(key for n in range(10_000) if low < key_position(key := f"slot {n}") <= high)
