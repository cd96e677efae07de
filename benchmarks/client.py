"""How fast our client writes and reads events: python -m benchmarks.client

Against our store in memory and on disk and against a released Pravega, all on this machine. Writing counts
acknowledged events, of 100 bytes with 1,000 keys, passed as Arrow arrays; "one by one" waits for each.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack

import pyarrow as pa

from benchmarks.common.run import Run, in_turns, parser_of, rounds_of
from benchmarks.common.stores import DISK, DURABLE, REAL, add_store_options, running, syncs_per_second
from pravega_lab.client import Client, ScalingPolicy, Stream, connect

EVENT_BYTES, KEYS = 100, 1_000
WARM_EVENTS = 1_000
WARM_UP_ROUNDS = 10
WRITE, READ, SINGLE = "write, events/s", "read, events/s", "write one by one, events/s"
WRITE_WANTED, READ_WANTED = 1_000_000, 3_000_000


def input_of(n_events: int, n_keys: int = KEYS) -> tuple[pa.Array, pa.Array]:
    """Events and their keys, as a caller would have them."""
    events = pa.array([b"%0*d" % (EVENT_BYTES, i) for i in range(n_events)], pa.binary())
    return events, pa.array([f"key-{i % n_keys}" for i in range(n_events)])


def seconds_to_write(stream: Stream, events: pa.Array, keys: pa.Array) -> float:
    """Until all are acknowledged."""
    begin = time.perf_counter()
    stream.write(events, keys)
    return time.perf_counter() - begin


def seconds_to_read(stream: Stream, expected: int) -> float:
    """From the first request to the last batch of the whole stream."""
    begin = time.perf_counter()
    found = 0
    with stream.read() as batches:
        while some := batches.next_batches():
            found += sum(batch.num_rows for batch in some)
    seconds = time.perf_counter() - begin
    if found != expected:
        raise SystemExit(f"{stream.scoped_name}: {found} of {expected} events came back")
    return seconds


def seconds_one_by_one(stream: Stream, n_events: int) -> float:
    begin = time.perf_counter()
    for i in range(n_events):
        stream.write(b"x" * EVENT_BYTES, f"key-{i % KEYS}")
    return time.perf_counter() - begin


def warm_up(client: Client, name: str, options: argparse.Namespace) -> None:
    """A JVM is slow until it has seen thousands of appends, and the others' are large and few."""
    stream = client.create_stream(name, scaling=ScalingPolicy.fixed(options.segments))
    seconds_one_by_one(stream, WARM_UP_ROUNDS * options.single_events)


def one_round(
    client: Client, name: str, options: argparse.Namespace, given: tuple[pa.Array, pa.Array]
) -> dict[str, float]:
    events, keys = given
    stream = client.create_stream(name, scaling=ScalingPolicy.fixed(options.segments))
    warm = min(WARM_EVENTS, len(events))
    stream.write(events.slice(0, warm), keys.slice(0, warm))  # connects
    # One by one first: a released store is busy for seconds with what it took in bulk.
    found = {SINGLE: options.single_events / seconds_one_by_one(stream, options.single_events)}
    found[WRITE] = len(events) / seconds_to_write(stream, events, keys)
    n_events = warm + options.single_events + len(events)
    found[READ] = n_events / seconds_to_read(stream, n_events)
    stream.seal()
    stream.delete()
    return found


def compare(run: Run, clients: dict[str, Client], options: argparse.Namespace) -> None:
    given = input_of(options.events)
    scope = f"bench{time.time_ns()}"
    for turn in rounds_of(options):
        for place in in_turns(list(clients), turn):
            client = clients[place]
            if turn == 0:
                warm_up(client, f"{scope}/warm", options)
            found = one_round(client, f"{scope}/s{turn}", options, given)
            if turn:  # the first round warms up the compiler's cache and the stores
                for what, rate in found.items():
                    run.add(what, place, rate)
        if turn and DURABLE in clients:
            run.add(DISK, "", syncs_per_second(options.data))


def judge(run: Run) -> None:
    for what in (WRITE, READ, SINGLE):
        short = what.removesuffix(", events/s")
        run.ratio(f"{short}, durable : real", (what, DURABLE), (what, REAL))
    run.target("acknowledged durable events/s", run.median(WRITE, DURABLE), WRITE_WANTED)
    run.target("events read per second", run.median(READ, DURABLE), READ_WANTED)


def main() -> int:
    parser = parser_of(__doc__)
    add_store_options(parser)
    parser.add_argument("--uri", help="measure this store instead")
    parser.add_argument("--events", type=int, default=1_000_000, help="per round")
    parser.add_argument("--single-events", type=int, default=500, help="per round, one by one")
    parser.add_argument("--segments", type=int, default=4)
    options = parser.parse_args()
    if options.uri:
        options.stores = []
    run = Run(
        f"Our client, {EVENT_BYTES}-byte events, {options.segments} segments, {options.events:,} a round"
    )
    with ExitStack() as stack:
        uris = stack.enter_context(running(options)) or {options.uri: options.uri}
        clients = {place: stack.enter_context(connect(uri)) for place, uri in uris.items()}
        compare(run, clients, options)
    judge(run)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())
