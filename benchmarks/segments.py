"""What an event costs with many segments, and with many events: python -m benchmarks.segments

Our client writes and reads the same events with the same keys in a stream of 10 and in one of 1,000
segments; and half and a quarter of them in 10 segments, to see that the cost is linear: an event among all
may cost little more than one among half of them. (A quarter partly fits into buffers on the way.)
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from contextlib import ExitStack

import pyarrow as pa

from benchmarks.client import EVENT_BYTES, input_of, seconds_to_read, seconds_to_write
from benchmarks.common.run import Run, in_turns, parser_of, rounds_of
from benchmarks.common.stores import NAMES, add_store_options, running
from pravega_lab.client import Client, ScalingPolicy, connect

KEYS = 20_000
PARTS = (1.0, 0.5, 0.25)
MANY_WANTED = 2.0  # times the cost with few segments
LINEAR_WANTED = 1.25  # the cost of an event among all, over that among half of them


def one_round(
    client: Client, name: str, segments: int, given: tuple[pa.Array, pa.Array]
) -> tuple[float, float]:
    """Microseconds per event, written and read."""
    events, keys = given
    stream = client.create_stream(name, scaling=ScalingPolicy.fixed(segments))
    warm = min(10 * segments, len(events))  # so that every segment has its writer
    stream.write(events.slice(0, warm), keys.slice(0, warm))
    gc.collect()  # garbage of earlier cases is no cost of this one
    written = seconds_to_write(stream, events, keys)
    gc.collect()
    read = seconds_to_read(stream, len(events) + warm)
    stream.seal()
    stream.delete()
    return 1e6 * written / len(events), 1e6 * read / (len(events) + warm)


def cases_of(options: argparse.Namespace) -> list[tuple[int, int]]:
    """(segments, events)"""
    few = [(options.few, int(options.events * part)) for part in PARTS]
    return [*few, (options.many, options.events)]


def where(store: str, segments: int, events: int) -> str:
    return f"{store}, {segments:,} segments, {events:,} events"


def compare(run: Run, clients: dict[str, Client], options: argparse.Namespace) -> None:
    events, keys = input_of(options.events, KEYS)
    scope, cases = f"bench{time.time_ns()}", cases_of(options)
    for turn in rounds_of(options):
        for store in in_turns(list(clients), turn):
            for segments, n in [cases[i % len(cases)] for i in range(turn, turn + len(cases))]:
                name = f"{scope}/s{turn}-{segments}-{n}"
                found = one_round(clients[store], name, segments, (events.slice(0, n), keys.slice(0, n)))
                if turn:
                    run.add("write, µs per event", where(store, segments, n), found[0])
                    run.add("read, µs per event", where(store, segments, n), found[1])


def judge(run: Run, options: argparse.Namespace) -> None:
    all_of, half_of, *_ = cases_of(options)
    for store in [NAMES[name] for name in options.stores]:
        for what in ("write", "read"):
            unit = f"{what}, µs per event"
            base = (unit, where(store, *all_of))
            name = f"{what}, {store}: {options.many:,} : {options.few:,} segments"
            run.target(
                name,
                run.ratio(name, (unit, where(store, options.many, options.events)), base),
                MANY_WANTED,
                at_least=False,
            )
            name = f"{what}, {store}: {all_of[1]:,} : {half_of[1]:,} events"
            run.target(
                name, run.ratio(name, base, (unit, where(store, *half_of))), LINEAR_WANTED, at_least=False
            )


def main() -> int:
    parser = parser_of(__doc__)
    add_store_options(parser, "memory,durable")
    parser.add_argument("--events", type=int, default=2_000_000, help="per round and stream")
    parser.add_argument("--few", type=int, default=10, help="segments")
    parser.add_argument("--many", type=int, default=1_000, help="segments")
    options = parser.parse_args()
    run = Run(f"Cost per event of {EVENT_BYTES} bytes, our client, {KEYS:,} keys")
    with ExitStack() as stack:
        uris = stack.enter_context(running(options))
        clients = {place: stack.enter_context(connect(uri)) for place, uri in uris.items()}
        compare(run, clients, options)
    judge(run, options)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())
