"""How fast single events are written and read by plain loops: python -m benchmarks.per_event

``writer.write(event, key)`` in a loop, then one flush, against the same events as Arrow arrays in the same
round; ``for event in …`` against the same events as record batches; and reader groups. The released Java
client writes and reads as many events in plain loops, on the same store, in the second pass of a JVM. Events
have 100 bytes and 1,000 keys. All on this machine, against our store in memory and on disk.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeAlias

from benchmarks.client import EVENT_BYTES, KEYS, input_of, seconds_to_read, seconds_to_write
from benchmarks.common.run import Run, in_turns, parser_of, rounds_of
from benchmarks.common.stores import DISK, add_store_options, running, syncs_per_second
from benchmarks.java.single_events import java_client, seconds_of_java
from pravega_lab.client import Client, ScalingPolicy, Stream, connect
from pravega_lab.client.framing.arrays import wait_until_compiled
from pravega_lab.client.reader_group import reading
from tests.conformance.real_pravega import NoRealPravegaError

LOOP, ARROW = "write(event, key) in a loop, then flush, events/s", "write(array, keys), then flush, events/s"
KEYLESS = "write(event) in a loop, then flush, events/s"
CPU = "CPU of the writing process in the loop with keys, µs/event"
ONE = "write(event, key), flush, ms, median"
READ, BATCHES = "for event in batches.events(), events/s", "for batch in batches, events/s"
GROUP = "for event in reader, {} readers of a group, events/s"
NEXT = "reader.read_next(), one reader, events/s"
JAVA = "Java client: writeEvent(key, event) in a loop, then flush, events/s"
JAVA_GROUP = "Java client: readNextEvent in a loop, {} readers of a group, events/s"
FIRST = "first write of an array, nothing compiled before, s"
LOOP_TO_ARROW, READ_WANTED, FIRST_WANTED = 0.2, 2_000_000, 1.0
READERS = (1, 8)
NEXT_EVENTS, STAMP_EVENTS = 2_000, 500
Figures: TypeAlias = dict[str, float]

FIRST_PROGRAM = """
import sys, time
from pravega_lab import connect
with connect(sys.argv[1]) as client:
    stream = client.create_stream(sys.argv[2])
    stream.write("connects", "key")
    events = [b"%0100d" % i for i in range(10_000)]
    begin = time.perf_counter()
    stream.write(events, "key")
    print(time.perf_counter() - begin)
"""


def seconds_of_loop(stream: Stream, events: list[bytes], keys: list[str] | None) -> tuple[float, float]:
    """Return the seconds until all events are acknowledged, and the CPU seconds of this process."""
    with stream.writer() as writer:
        writer.write(events[0], "key")
        writer.flush()  # connected
        begin, cpu = time.perf_counter(), time.process_time()
        if keys is None:
            for event in events:
                writer.write(event)
        else:
            for event, key in zip(events, keys, strict=True):
                writer.write(event, key)
        writer.flush()
        return time.perf_counter() - begin, time.process_time() - cpu


def median_ms_of_one(stream: Stream, n_events: int) -> float:
    """Return the time of one event and its flush."""
    spent = []
    with stream.writer() as writer:
        for i in range(n_events):
            begin = time.perf_counter()
            writer.write(b"x" * EVENT_BYTES, f"key-{i}")
            writer.flush()
            spent.append(1000 * (time.perf_counter() - begin))
    return sorted(spent)[n_events // 2]


def seconds_to_loop_over(stream: Stream, expected: int) -> float:
    """Return the seconds that a plain loop over all events of the stream takes."""
    begin, found = time.perf_counter(), 0
    with stream.read() as batches:
        for _ in batches.events():
            found += 1
    seconds = time.perf_counter() - begin
    if found != expected:
        raise SystemExit(f"{stream.scoped_name}: {found} of {expected} events came back")
    return seconds


def seconds_of_group(client: Client, stream: Stream, name: str, n_readers: int, expected: int) -> float:
    """Return the seconds from the first event of any reader to the last one. Each reader has a thread.

    A reader looks at the clock at its first event and at every `STAMP_EVENTS`-th one.
    """
    end = stream.tail()
    group = client.create_reader_group(
        f"{stream.scope}/{name}", reading([stream.scoped_name], end=[end], group_refresh_time_ms=500)
    )
    counts = [0] * n_readers
    stamps: list[float] = []

    def loop(number: int) -> None:
        found = 0
        with group.create_reader(f"reader{number}") as reader:
            for _ in reader:
                if found % STAMP_EVENTS == 0:
                    stamps.append(time.perf_counter())
                found += 1
        counts[number] = found

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(n_readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if sum(counts) != expected:
        raise SystemExit(f"{stream.scoped_name}: {sum(counts)} of {expected} events came back")
    return max(stamps) - min(stamps)


def rate_of_read_next(client: Client, stream: Stream, name: str) -> float:
    """Return events per second that one reader returns call by call."""
    group = client.create_reader_group(f"{stream.scope}/{name}", reading([stream.scoped_name]))
    with group.create_reader("reader") as reader:
        reader.read_next(10.0)
        begin = time.perf_counter()
        for _ in range(NEXT_EVENTS):
            reader.read_next(10.0)
        return NEXT_EVENTS / (time.perf_counter() - begin)


@contextmanager
def nothing_cached() -> Iterator[dict[str, str]]:
    """An environment in which numba finds no compiled function."""
    with tempfile.TemporaryDirectory() as folder:
        yield {**os.environ, "NUMBA_CACHE_DIR": folder}


def first_write_s(uri: str, name: str) -> float:
    """Return the seconds of a first large write in a fresh process without a cache."""
    with nothing_cached() as environment:
        command = [sys.executable, "-c", FIRST_PROGRAM, uri, name]
        found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(found.stdout)


def one_round(client: Client, name: str, options: argparse.Namespace) -> Figures:
    arrays = input_of(options.events)
    events, keys = arrays[0].to_pylist(), arrays[1].to_pylist()
    n_events = len(events)
    stream = client.create_stream(name, scaling=ScalingPolicy.fixed(options.segments))
    found = {ONE: median_ms_of_one(stream, options.single_events)}
    written = options.single_events
    for what in in_turns([LOOP, ARROW, KEYLESS], options.turn):
        if what == ARROW:
            found[what] = n_events / seconds_to_write(stream, *arrays)
            written += n_events
            continue
        seconds, cpu = seconds_of_loop(stream, events, keys if what == LOOP else None)
        written += n_events + 1
        found[what] = n_events / seconds
        if what == LOOP:
            found[CPU] = 1e6 * cpu / n_events
    found[BATCHES] = written / seconds_to_read(stream, written)
    found[READ] = written / seconds_to_loop_over(stream, written)
    for n_readers in READERS:
        seconds = seconds_of_group(client, stream, f"group{options.turn}-{n_readers}", n_readers, written)
        found[GROUP.format(n_readers)] = written / seconds
    found[NEXT] = rate_of_read_next(client, stream, f"next{options.turn}")
    stream.seal()
    return found


def of_java(command: list[str], client: Client, uri: str, name: str, options: argparse.Namespace) -> Figures:
    """The figures of the Java client."""
    policy = ScalingPolicy.fixed(options.segments)
    streams = [client.create_stream(f"{name}-{i}", scaling=policy) for i in (0, 1)]
    numbers = (options.events, EVENT_BYTES, KEYS)
    seconds = seconds_of_java(command, uri, streams[0].scope, numbers, [stream.name for stream in streams])
    names = [JAVA, *(JAVA_GROUP.format(n_readers) for n_readers in READERS)]
    return {what: options.events / took for what, took in zip(names, seconds, strict=True)}


def compare(
    run: Run, clients: dict[str, Client], uris: dict[str, str], java: list[str], options: argparse.Namespace
) -> None:
    wait_until_compiled(60.0)
    scope = f"bench{time.time_ns()}"
    for turn in rounds_of(options):
        options.turn = turn
        for place in in_turns(list(clients), turn):
            found = one_round(clients[place], f"{scope}/s{turn}", options)
            found[FIRST] = first_write_s(uris[place], f"{scope}/first{turn}")
            if turn and java:
                found |= of_java(java, clients[place], uris[place], f"{scope}/java{turn}", options)
            if turn:
                for what, figure in found.items():
                    run.add(what, place, figure)
        if turn:
            run.add(DISK, "", syncs_per_second(options.data))


def judge(run: Run, places: list[str]) -> None:
    for place in places:
        ratio = run.ratio(f"loop : arrays, {place}", (LOOP, place), (ARROW, place))
        run.target(f"loop : arrays, {place}", ratio, LOOP_TO_ARROW)
        run.target(f"events read by a loop, {place}, 1/s", run.median(READ, place), READ_WANTED)
        run.target(f"first write, {place}, s", run.median(FIRST, place), FIRST_WANTED, at_least=False)


def java_command(stack: ExitStack) -> list[str]:
    try:
        return stack.enter_context(java_client())
    except NoRealPravegaError as error:
        print(f"NOT COMPARED WITH THE JAVA CLIENT: {error}", file=sys.stderr)
        return []


def main() -> int:
    parser = parser_of(__doc__)
    add_store_options(parser, "memory,durable")
    parser.add_argument("--events", type=int, default=500_000, help="per round and kind of writing")
    parser.add_argument("--single-events", type=int, default=300, help="per round, each with a flush")
    parser.add_argument("--segments", type=int, default=8)
    parser.add_argument("--no-java", action="store_true", help="leave out the Java client")
    options = parser.parse_args()
    of = f"{EVENT_BYTES}-byte events, {options.segments} segments, {options.events:,} a round"
    run = Run(f"Plain loops over {of}")
    with ExitStack() as stack:
        uris = stack.enter_context(running(options))
        clients = {place: stack.enter_context(connect(uri)) for place, uri in uris.items()}
        compare(run, clients, uris, [] if options.no_java else java_command(stack), options)
    judge(run, list(uris))
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())
