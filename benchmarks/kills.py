"""Kill a store with tier 2 at random moments while it serves writers, transactions and tail readers.

It sends ``--kills`` real ``kill -9`` to the process of the store and starts it again each time. Then it reads
the whole stream and prints one line with the verdict: how many acknowledged events are lost, how many events
are there twice, and how many are out of order, in what is stored and in what the tail readers saw. The exit
code is 0 only if all three are 0.

    python -m benchmarks.kills
    python -m benchmarks.kills --kills 30 --rebuild-every 10
    python -m benchmarks.kills --tier2 s3://bucket/folder --tier2-options s3.json
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.stream import AsyncStream
from pravega_lab.client.values import HEAD, TAIL, ScalingPolicy, TransactionState
from pravega_lab.client.writing.transaction import AsyncTransaction
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.errors import PravegaError, TransactionFailedError

STREAM = "kills/stream"
SEGMENTS = 3
CHUNK_BYTES = 64 << 10
EVENT_BYTES = 3000
LIFE_S_MAX = 1.5
REST_S = 0.5
RETRY_S = 600.0
"""Clients keep trying: on a busy machine a store may be killed many times before a call reaches it."""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=300, help="(default: %(default)s)")
    parser.add_argument("--writers", type=int, default=2, help="(default: %(default)s)")
    parser.add_argument("--transactions", type=int, default=2, help="programs with transactions (2)")
    parser.add_argument("--readers", type=int, default=2, help="tail readers (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default: %(default)s)")
    parser.add_argument("--tier2", help="its folder (default: a temporary one)")
    parser.add_argument("--tier2-options", help="options of its file system, as for the store")
    parser.add_argument(
        "--rebuild-every", type=int, default=0, metavar="N", help="lose the snapshots at each N-th kill"
    )
    return parser.parse_args()


@dataclass
class Record:
    """What the programs know: each event is "source number", its routing key is its source."""

    acked: set[str] = field(default_factory=set)
    seen: dict[str, list[str]] = field(default_factory=dict)  # by reader
    is_over: bool = False


def payload(source: str, number: int) -> str:
    return f"{source} {number} ".ljust(EVENT_BYTES, ".")


def name_of(event: str) -> str:
    return event.rstrip(".").strip()


async def write(record: Record, stream: AsyncStream, source: str) -> None:
    """Write numbered events until the end. The writer survives every kill."""
    number = 0
    async with stream.writer() as writer:
        while not record.is_over:
            events = [payload(source, number + n) for n in range(20)]
            await writer.write(events, source)
            await writer.flush()
            record.acked.update(map(name_of, events))
            number += len(events)
            await asyncio.sleep(0.01)


async def transact(record: Record, stream: AsyncStream, source: str) -> None:
    """Commit one transaction after the other until the end. Each has a source of its own."""
    count = 0
    while not record.is_over:
        count += 1
        name = f"{source}.{count}"
        events = [payload(name, n) for n in range(10)]
        try:
            txn = await stream.begin_transaction()
        except PravegaError:
            continue
        try:
            await txn.write(events, name)
            await txn.flush()
        except PravegaError:
            await txn.close()  # it is never committed: the store aborts it when its lease ends
            continue
        if await commit(txn):
            record.acked.update(map(name_of, events))


async def commit(txn: AsyncTransaction) -> bool:
    """Commit a transaction whose events are durable. Return False if it was aborted."""
    while True:
        try:
            await txn.commit(wait=True)
            return True
        except TransactionFailedError:
            return await txn.state() is TransactionState.COMMITTED
        except PravegaError:
            await asyncio.sleep(0.1)


async def read_tail(record: Record, stream: AsyncStream, reader: str) -> None:
    """Follow the stream until it is sealed, and resume where the last error left off."""
    seen = record.seen[reader] = []
    position: Any = HEAD
    while True:
        try:
            async with stream.follow(position) as batches:
                while not batches.ended:
                    batch = await batches.next_batch(timeout_s=1.0)
                    if batch is not None:
                        seen += [name_of(event.decode()) for event in batch.column("event").to_pylist()]
                        position = batches.position()
                return
        except PravegaError:
            await asyncio.sleep(0.1)


async def kill(record: Record, store: StoreProcess, options: argparse.Namespace, folder: Path) -> int:
    """Kill and start the store ``options.kills`` times. Return how often it was rebuilt from tier 2."""
    chance = Random(options.seed)
    rebuilt = 0
    plain = store.options
    for number in tqdm(range(1, options.kills + 1), unit="kill", leave=False, disable=None):
        await asyncio.sleep(chance.uniform(0.0, LIFE_S_MAX))
        await asyncio.to_thread(store.kill)
        if options.rebuild_every and number % options.rebuild_every == 0:
            snapshots = list((folder / "data").glob("snapshot-*"))
            for snapshot in snapshots:
                snapshot.unlink()
            if snapshots:
                store.options = [*plain, "--tier2-rebuild"]
                rebuilt += 1
        await asyncio.to_thread(store.start)
        store.options = plain
    await asyncio.sleep(REST_S)
    record.is_over = True
    return rebuilt


def misplaced(events: list[str]) -> int:
    """Return how many events come after a later event of their source."""
    last: dict[str, int] = {}
    wrong = 0
    for event in events:
        source, number = event.rsplit(" ", 1)
        wrong += int(number) != last.get(source, -1) + 1
        last[source] = int(number)
    return wrong


def judge(record: Record, stored: list[str]) -> tuple[int, int, int]:
    """Return how many events are lost, doubled and out of order."""
    lost = len(record.acked - set(stored))
    doubled = sum(n - 1 for n in Counter(stored).values())
    disorder = misplaced(stored)
    for seen in record.seen.values():
        lost += len(record.acked - set(seen))
        doubled += sum(n - 1 for n in Counter(seen).values())
        disorder += misplaced(seen)
    return lost, doubled, disorder


async def story(options: argparse.Namespace, folder: Path) -> int:
    tier = options.tier2 or str(folder / "tier2")
    of_tier = ["--tier2", tier, "--tier2-chunk-bytes", str(CHUNK_BYTES), "--tier2-after-s", "0.3"]
    if options.tier2_options:
        of_tier += ["--tier2-options", options.tier2_options]
    began_s = time.monotonic()
    record = Record()
    with StoreProcess(folder / "data", options=of_tier) as store:
        async with AsyncClient(store.uri, retry_for_s=RETRY_S) as client:
            stream = await client.create_stream(STREAM, scaling=ScalingPolicy.fixed(SEGMENTS))
            programs: list[Coroutine[Any, Any, None]] = [
                *(write(record, stream, f"w{n}") for n in range(options.writers)),
                *(transact(record, stream, f"t{n}") for n in range(options.transactions)),
            ]
            readers = [read_tail(record, stream, f"r{n}") for n in range(options.readers)]
            running, reading = ([asyncio.create_task(one) for one in some] for some in (programs, readers))
            rebuilt = await kill(record, store, options, folder)
            await asyncio.gather(*running)
            await stream.seal()
            await asyncio.gather(*reading)
            stored: list[str] = []
            async with stream.read(HEAD, TAIL) as batches:
                async for batch in batches:
                    stored += [name_of(event.decode()) for event in batch.column("event").to_pylist()]
        log = store.log()
    lost, doubled, disorder = judge(record, stored)
    chunks = len(list(Path(tier).glob("chunk-*"))) if options.tier2 is None else "?"
    print(
        f"{options.kills} x kill -9 in {time.monotonic() - began_s:.0f} s, {rebuilt} rebuilds from tier 2;"
        f" {len(record.acked)} events acknowledged, {len(stored)} stored, {chunks} chunks in tier 2,"
        f" {options.readers} tail readers: {lost} lost, {doubled} doubled, {disorder} out of order"
    )
    if lost or doubled or disorder:
        print(log[-3000:], file=sys.stderr)
    return int(bool(lost or doubled or disorder))


def main() -> int:
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(story(options, Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
