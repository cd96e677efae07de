"""The official wheel against our store and a released Pravega: python -m benchmarks.wheel

Events of 100 bytes with 1,000 routing keys into 3 segments. The wheel runs in a process of its own per
measurement, and each measurement has a stream of its own. The released standalone keeps its log in memory;
so does "memory"; "durable" syncs every group to disk before it acknowledges.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

from benchmarks.common.run import Run, in_turns, parser_of, rounds_of
from benchmarks.common.stores import DISK, DURABLE, MEMORY, REAL, add_store_options, running, syncs_per_second

ROOT = Path(__file__).resolve().parents[1]
EVENT_BYTES, KEYS, SEGMENTS = 100, 1000, 3
WAITING, PIPELINED, READ = (
    "write, each acknowledged, events/s",
    "write, 1000 in flight, events/s",
    "read, one reader, events/s",
)
MEASURES = (WAITING, PIPELINED, READ)


def write(manager: object, scope: str, stream: str, in_flight: int, count: int) -> float:
    """Events per second, the flush included."""
    event, keys = b"x" * EVENT_BYTES, [f"key-{n}" for n in range(KEYS)]
    writer = manager.create_writer(scope, stream, in_flight)  # type: ignore[attr-defined]
    writer.write_event_bytes(event, keys[0])  # connections are made before the clock starts
    writer.flush()
    start = time.perf_counter()
    for number in range(count):
        writer.write_event_bytes(event, keys[number % KEYS])
    writer.flush()
    return count / (time.perf_counter() - start)


async def read(reader: object, count: int) -> None:
    while count > 0:
        piece = await reader.get_segment_slice_async()  # type: ignore[attr-defined]
        count -= sum(1 for _ in piece)
        reader.release_segment(piece)  # type: ignore[attr-defined]


def measure(uri: str, waiting_events: int, events: int) -> dict[str, float]:
    """One round on one store; runs in its own process."""
    import pravega_client

    manager, scope = pravega_client.StreamManager(uri), f"bench-{uuid.uuid4().hex[:12]}"
    manager.create_scope(scope)
    for stream in ("waiting", "pipelined"):
        manager.create_stream(scope, stream, SEGMENTS)
    waiting = write(manager, scope, "waiting", 0, waiting_events)
    pipelined = write(manager, scope, "pipelined", 1000, events)
    start = time.perf_counter()
    reader = manager.create_reader_group("group", scope, "pipelined").create_reader("reader")
    asyncio.run(read(reader, events + 1))
    rate = events / (time.perf_counter() - start)
    return dict(zip(MEASURES, (waiting, pipelined, rate), strict=True))


def measure_in_child(uri: str, options: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.wheel", "--measure", uri, "--events", str(options.events)]
    command += ["--waiting-events", str(options.waiting_events)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(f"the wheel failed against {uri}:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(run: Run, uris: dict[str, str], options: argparse.Namespace) -> None:
    for turn in rounds_of(options):
        for name in in_turns(list(uris), turn):
            found = measure_in_child(uris[name], options)
            if turn:  # the first round warms up: the JVM, and ours
                for what in MEASURES:
                    run.add(what, name, found[what])
        if turn and DURABLE in uris:
            run.add(DISK, "", syncs_per_second(options.data))


def judge(run: Run) -> None:
    for what in MEASURES:
        short = what.removesuffix(", events/s")
        run.target(
            f"{short}, memory : real", run.ratio(f"{short}, memory : real", (what, MEMORY), (what, REAL)), 1
        )
        run.ratio(f"{short}, durable : real", (what, DURABLE), (what, REAL))


def main() -> int:
    parser = parser_of(__doc__)
    add_store_options(parser)
    parser.add_argument("--events", type=int, default=100_000, help="per round, pipelined and read")
    parser.add_argument("--waiting-events", type=int, default=2_000, help="per round, each acknowledged")
    parser.add_argument("--measure", metavar="URI", help="one round against a store that runs, as JSON")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.waiting_events, options.events)), flush=True)
        os._exit(0)  # the wheel's threads now and then abort a Python that shuts down in good order
    run = Run(f"The official wheel, {EVENT_BYTES}-byte events, {SEGMENTS} segments")
    with running(options) as uris:
        compare(run, uris, options)
    judge(run)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())
