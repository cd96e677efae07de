"""The official wheel against our store and a released Pravega 0.13.0: ``python benchmarks/wheel.py [--rounds
5]``.

Events of 100 bytes with 1,000 routing keys into 3 segments. Rounds are interleaved, so that what else the
machine does hits all stores alike; the table says minimum, median and maximum of events per second. The
wheel runs in a process of its own per measurement, and each measurement has a stream of its own. The
released standalone keeps its log in memory; so does ``memory``, and ``durable`` syncs every group to disk
before it acknowledges.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

EVENT_BYTES, KEYS, SEGMENTS = 100, 1000, 3
WAITING_EVENTS, PIPELINED_EVENTS = 2_000, 100_000
MEASURES = ("write, each acknowledged", "write, 1000 in flight", "read, one reader")


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


def measure(uri: str) -> dict[str, float]:
    """One round on one store; runs in its own process."""
    import pravega_client

    manager, scope = pravega_client.StreamManager(uri), f"bench-{uuid.uuid4().hex[:12]}"
    manager.create_scope(scope)
    for stream in ("waiting", "pipelined"):
        manager.create_stream(scope, stream, SEGMENTS)
    waiting = write(manager, scope, "waiting", 0, WAITING_EVENTS)
    pipelined = write(manager, scope, "pipelined", 1000, PIPELINED_EVENTS)
    start = time.perf_counter()
    reader = manager.create_reader_group("group", scope, "pipelined").create_reader("reader")
    asyncio.run(read(reader, PIPELINED_EVENTS + 1))
    rate = PIPELINED_EVENTS / (time.perf_counter() - start)
    return dict(zip(MEASURES, (waiting, pipelined, rate), strict=True))


def measure_in_child(uri: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", uri]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=300)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(rounds: int, folder: str) -> dict[str, list[dict[str, float]]]:
    from tests.conformance.real_pravega import RealPravega
    from tests.standalone import Standalone

    stores = {
        "Pravega 0.13.0": RealPravega(heap="2g"),
        "ours, memory": Standalone("--memory"),
        "ours, durable": Standalone("--data", f"{folder}/store"),
    }
    results: dict[str, list[dict[str, float]]] = {name: [] for name in stores}
    try:
        uris = {name: store.start() for name, store in stores.items()}
        for uri in uris.values():
            measure_in_child(uri)  # the JVM warms up; ours may too
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
            for name, uri in uris.items():
                results[name].append(measure_in_child(uri))
    finally:
        for store in stores.values():
            store.stop()
    return results


def table(results: dict[str, list[dict[str, float]]]) -> str:
    lines = [
        "| events/s (min / median / max) | " + " | ".join(results) + " |",
        "|---" * (len(results) + 1) + "|",
    ]
    for name in MEASURES:
        cells = [spread([found[name] for found in rounds]) for rounds in results.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def spread(rates: list[float]) -> str:
    return f"{min(rates):,.0f} / {statistics.median(rates):,.0f} / {max(rates):,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", metavar="URI", help="one round against a store that runs (JSON)")
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure)))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(table(compare(args.rounds, folder)))


if __name__ == "__main__":
    main()
