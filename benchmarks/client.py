"""How fast our client writes and reads events, client and store on this machine.

    python -m benchmarks.client                          # an embedded store in memory and a durable one
    python -m benchmarks.client --uri tcp://host:9090    # any other store instead

Rounds over the stores are interleaved; minimum, median and maximum are shown, never the best alone. Writing
counts acknowledged events; events have 100 bytes and one of 1,000 keys.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pyarrow as pa

from pravega_lab.client import Client, ScalingPolicy, Stream, connect

EVENT_BYTES = 100
KEYS = 1_000


@contextmanager
def standalone(*arguments: str) -> Iterator[str]:
    """An embedded store in a process of its own; its URI."""
    command = [sys.executable, "-m", "pravega_lab.cli", "standalone", "--with-parent"]
    ports = ["--controller-port", "0", "--segment-store-port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *ports, *arguments], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().split()[1]
        process.stdin.close()


def input_of(n_events: int) -> tuple[pa.Array, pa.Array]:
    events = pa.array([b"%0*d" % (EVENT_BYTES, i) for i in range(n_events)], pa.binary())
    return events, pa.array([f"key-{i % KEYS}" for i in range(n_events)])


def rate_of_write(client: Client, name: str, segments: int, n_events: int) -> tuple[Stream, float]:
    events, keys = input_of(n_events)
    stream = client.create_stream(name, scaling=ScalingPolicy.fixed(segments))
    stream.write(events.slice(0, 1000), keys.slice(0, 1000))  # connects; not measured
    begin = time.perf_counter()
    stream.write(events, keys)
    return stream, n_events / (time.perf_counter() - begin)


def rate_of_read(stream: Stream, n_events: int) -> float:
    begin = time.perf_counter()
    with stream.read() as batches:
        found = sum(batch.num_rows for batch in batches)
    assert found == n_events, f"{found} of {n_events} events came back"
    return n_events / (time.perf_counter() - begin)


def rate_of_single_events(stream: Stream, n_events: int) -> float:
    begin = time.perf_counter()
    for i in range(n_events):
        stream.write(b"x" * EVENT_BYTES, f"key-{i % KEYS}")
    return n_events / (time.perf_counter() - begin)


def measure(clients: dict[str, Client], options: argparse.Namespace) -> dict[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    scope = f"bench{time.time_ns()}"
    for turn in range(options.rounds + 1):
        for place, client in clients.items():
            stream, written = rate_of_write(client, f"{scope}/s{turn}", options.segments, options.events)
            read = rate_of_read(stream, options.events + 1000)
            single = rate_of_single_events(stream, 200)
            stream.seal()
            stream.delete()
            if turn:  # the first round warms up the compiler's cache and the store
                found[place, "write"].append(written)
                found[place, "read"].append(read)
                found[place, "single"].append(single)
    return found


def show(found: dict[tuple[str, str], list[float]], line: Callable[[str], None]) -> None:
    line(f"{'store':<12}{'what':<10}{'min':>12}{'median':>12}{'max':>12}  events/s")
    for (place, what), rates in found.items():
        low, middle, high = min(rates), statistics.median(rates), max(rates)
        line(f"{place:<12}{what:<10}{low:>12,.0f}{middle:>12,.0f}{high:>12,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--uri", help="measure this store instead of the embedded ones")
    parser.add_argument("--events", type=int, default=1_000_000, help="per round")
    parser.add_argument("--segments", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with ExitStack() as stack:
        stores = {"given": options.uri} if options.uri else {}
        if not options.uri:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            stores["memory"] = stack.enter_context(standalone("--memory"))
            stores["durable"] = stack.enter_context(standalone("--data", folder))
        clients = {place: stack.enter_context(connect(uri)) for place, uri in stores.items()}
        show(measure(clients, options), print)


if __name__ == "__main__":
    main()
