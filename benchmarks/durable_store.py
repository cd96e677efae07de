"""What a durable store promises for its disk and for this machine: python -m benchmarks.durable_store

Acknowledged single appends against the disk's own sync rate; 1,000 producers with one event in flight each
against one such producer; what the checksums of reads cost; how long a store takes to recover from a log, and
how much memory it needs then; and what it does while no client uses it.

The store is a process of its own, on a new folder. ``--data DIR`` puts the folder on another disk.
``--sync-ms 0.5 2 6`` measures the appends again on slower disks: the same disk, on which each sync takes at
least so many milliseconds, in the store as in what the disk does alone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.common.run import Run, parser_of, rounds_of
from pravega_lab.client import AsyncClient, ScalingPolicy, connect
from pravega_lab.client.loop_thread import new_loop
from pravega_lab.engine.server.store_process import StoreProcess

EVENT_BYTES = 256
SYNC_BYTES = 4096
FILL_BYTES = 1_008
STREAM_SEGMENTS_MAX = 1_000
FREE_PORTS = ("--controller-port", "0", "--segment-store-port", "0", "--with-parent")
START_PROGRAM = "import sys; from pravega_lab.cli import main; sys.exit(main(sys.argv[1:]))"
UNCHECKED_PROGRAM = """
from pravega_lab.engine.store.log import verified
verified.group_is_valid = lambda group, salt: True
"""
SLOW_PROGRAM = """
import fcntl, os, time
from pravega_lab.engine.store.log import disk
write_all = disk._write_all
def slow(handle, data, offset):
    end_s = time.perf_counter() + {sync_ms} / 1000
    write_all(handle, data, offset)
    if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_DSYNC == os.O_DSYNC:
        time.sleep(max(0.0, end_s - time.perf_counter()))
disk._write_all = slow
"""
STORE = "durable"
SYNC = "the disk alone, 4 KiB written and synced, 1/s"
ONE, MANY = "1 producer, one event of 256 B in flight, events/s", "the same, {:,} producers, events/s"
CHECKED, UNCHECKED = "a client reads from the disk, MB/s", "the same without checksums, MB/s"
CHECKED_CPU, UNCHECKED_CPU = "CPU of both for 1 GB, s", "the same without checksums, s"
RECOVERY, RECOVERY_BYTES = "recovery of the log, s", "bytes of the log, MB"
ENDED, ENDED_TRANSACTIONS = "resident memory per ended transaction, kB", 20_000
MEMORY, IDLE = "resident memory, {:,} segments, MB", "CPU of an idle store, {:,} segments, %"
APPENDS_WANTED, PRODUCERS_WANTED, CHECKSUMS_WANTED = 0.8, 10.0, 0.95
RECOVERY_S_WANTED, IDLE_WANTED = 5.0, 1.0
MEMORY_WANTED = {1_000: 300.0, 10_000: 500.0}


def syncs_per_second(folder: Path, seconds: float, sync_ms: float = 0.0) -> float:
    """What the disk does as the log does it: writes into a file of zeros that is open with O_DSYNC.

    A sync takes at least ``sync_ms``.
    """
    path = folder / "alone"
    path.write_bytes(bytes(64 << 20))
    handle = os.open(path, os.O_WRONLY | os.O_DSYNC)
    try:
        os.fsync(handle)
        block, count, begin = b"x" * SYNC_BYTES, 0, time.perf_counter()
        while (took := time.perf_counter() - begin) < seconds:
            os.pwrite(handle, block, count * SYNC_BYTES % (64 << 20))
            count += 1
            if sync_ms:
                time.sleep(max(0.0, begin + took + sync_ms / 1000 - time.perf_counter()))
        return count / took
    finally:
        os.close(handle)
        path.unlink()


async def events_per_second(uri: str, stream: str, producers: int, seconds: float) -> float:
    """Acknowledged events of producers that each wait for an event before they send the next one."""
    event = b"x" * EVENT_BYTES
    async with AsyncClient(uri) as client:
        handle = await client.create_stream(stream, scaling=ScalingPolicy.fixed(1))
        counts = [0] * producers

        async def produce(number: int) -> None:
            async with handle.writer() as writer:
                await writer.write(event, "key")
                await writer.flush()
                started.set()
                await begin.wait()
                while time.perf_counter() < end[0]:
                    await writer.write(event, "key")
                    await writer.flush()
                    counts[number] += 1

        started, begin, end = asyncio.Event(), asyncio.Event(), [0.0]
        tasks = [asyncio.create_task(produce(n)) for n in range(producers)]
        await started.wait()
        await asyncio.sleep(producers / 1000)  # until most have their connection
        began_s = time.perf_counter()
        end[0] = began_s + seconds
        begin.set()
        for task in tasks:
            await task
        return sum(counts) / (time.perf_counter() - began_s)


def run_as_client(call: Coroutine[Any, Any, float]) -> float:
    """Run on a loop of the kind that the synchronous client runs on."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(call)


def fill(uri: str, segments: int, size_bytes: int) -> None:
    """Write events of 1 kB until the log has so many bytes, into streams ``s/0``, ``s/1``, …"""
    events = pa.array([b"%01000d" % n for n in range(20_000)], pa.binary())
    keys = pa.array([f"key-{n}" for n in range(20_000)])
    with connect(uri) as client:
        streams = [
            client.create_stream(f"s/{n}", scaling=ScalingPolicy.fixed(min(segments, STREAM_SEGMENTS_MAX)))
            for n in range(-(-segments // STREAM_SEGMENTS_MAX))
        ]
        for n in range(max(len(streams), size_bytes // (20_000 * FILL_BYTES))):
            streams[n % len(streams)].write(events, keys)


@contextmanager
def patched_store(data: Path, patch: str) -> Iterator[tuple[str, int]]:
    """Start a store that runs ``patch`` first, and return its address and its process id."""
    command = [sys.executable, "-c", patch + START_PROGRAM, "standalone", "--data", str(data), *FREE_PORTS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[1], process.pid
        finally:
            process.terminate()


def read_rate(data: Path, stream: str, *, checksums: bool) -> tuple[float, float]:
    """Start a store on ``data``, and read a stream with our client.

    Return the megabytes per second, and the CPU seconds of client and store together for a gigabyte.
    """
    with (
        patched_store(data, "" if checksums else UNCHECKED_PROGRAM) as (uri, pid),
        connect(uri) as client,
    ):
        done, begin = 0, time.perf_counter()
        cpu_s = cpu_seconds(pid) + time.process_time()
        with client.stream(stream).read() as batches:
            while some := batches.next_batches():
                done += sum(batch.num_rows for batch in some)
        took = time.perf_counter() - begin
        cpu_s = cpu_seconds(pid) + time.process_time() - cpu_s
        return done * FILL_BYTES / 1e6 / took, cpu_s / (done * FILL_BYTES / 1e9)


def memory_mb(pid: int) -> float:
    """The resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) * 1024 / 1e6


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def cpu_percent(pid: int, seconds: float) -> float:
    """The share of one core that a process takes."""
    before = cpu_seconds(pid)
    time.sleep(seconds)
    return 100 * (cpu_seconds(pid) - before) / seconds


def measure_appends(run: Run, options: argparse.Namespace, folder: Path) -> None:
    """One producer between two measurements of the disk, then many: on this disk, and on slower ones."""
    for sync_ms in (0.0, *options.sync_ms):
        where = f"a sync of {sync_ms:g} ms" if sync_ms else STORE
        patch = SLOW_PROGRAM.format(sync_ms=sync_ms) if sync_ms else ""
        with patched_store(folder / f"appends-{sync_ms:g}", patch) as (uri, _):
            for number in rounds_of(options):
                syncs = [syncs_per_second(folder, options.seconds / 4, sync_ms)]
                one = run_as_client(events_per_second(uri, f"s/one-{number}", 1, options.seconds))
                syncs.append(syncs_per_second(folder, options.seconds / 4, sync_ms))
                many = run_as_client(
                    events_per_second(uri, f"s/many-{number}", options.producers, options.seconds)
                )
                if number:
                    run.add(SYNC, where, sum(syncs) / 2)
                    run.add(ONE, where, one)
                    run.add(MANY.format(options.producers), where, many)
        disk = f", {where}" if sync_ms else ""
        name = f"single appends : syncs of the disk{disk}"
        run.target(name, run.ratio(name, (ONE, where), (SYNC, where)), APPENDS_WANTED)
        name = f"{options.producers:,} producers : 1{disk}"
        ratio = run.ratio(name, (MANY.format(options.producers), where), (ONE, where))
        run.target(name, ratio, PRODUCERS_WANTED)


def measure_log(run: Run, options: argparse.Namespace, folder: Path) -> None:
    """Fill a log, kill the store, recover, and read the log with and without checksums."""
    data = folder / "log"
    with StoreProcess(data) as store:
        fill(store.uri, 10, options.log_mb * 1_000_000)
        for number in rounds_of(options):
            store.kill()
            begin = time.perf_counter()
            store.start()
            took = time.perf_counter() - begin
            if number:
                run.add(RECOVERY, STORE, took)
                size = sum(path.stat().st_size for path in data.glob("log-*")) / 1e6
                run.add(RECOVERY_BYTES, STORE, size)
    for number in rounds_of(options):
        for checksums in (True, False) if number % 2 else (False, True):
            rate, cpu_s = read_rate(data, "s/0", checksums=checksums)
            if number:
                run.add(CHECKED if checksums else UNCHECKED, STORE, rate)
                run.add(CHECKED_CPU if checksums else UNCHECKED_CPU, STORE, cpu_s)
    run.target(RECOVERY, run.median(RECOVERY, STORE), RECOVERY_S_WANTED, at_least=False)
    run.ratio("with checksums : without", (CHECKED, STORE), (UNCHECKED, STORE))
    name = "the same by CPU time"
    run.target(name, run.ratio(name, (UNCHECKED_CPU, STORE), (CHECKED_CPU, STORE)), CHECKSUMS_WANTED)


def measure_ended(run: Run, folder: Path) -> None:
    """Begin and abort transactions, and look at how much the process grows."""
    with StoreProcess(folder / "ended") as store, connect(store.uri) as client:
        stream = client.create_stream("s/ended")

        def end(count: int) -> float:
            for _ in range(count):
                stream.begin_transaction().abort()
            return memory_mb(store.pid)

        before_mb = end(10_000)
        run.add(ENDED, STORE, (end(ENDED_TRANSACTIONS) - before_mb) * 1000 / ENDED_TRANSACTIONS)


def measure_memory(run: Run, options: argparse.Namespace, folder: Path) -> None:
    """Fill stores of many segments or with ended transactions, and look at the process afterwards."""
    measure_ended(run, folder)
    for segments in options.segments:
        with StoreProcess(folder / f"memory-{segments}") as store:
            fill(store.uri, segments, options.log_mb * 1_000_000)
            run.add(MEMORY.format(segments), STORE, memory_mb(store.pid))
            run.add(IDLE.format(segments), STORE, cpu_percent(store.pid, options.idle_s))
        wanted = MEMORY_WANTED.get(segments)
        if wanted is not None:
            what = MEMORY.format(segments)
            run.target(what, run.median(what, STORE), wanted, at_least=False)
        what = IDLE.format(segments)
        run.target(what, run.median(what, STORE), IDLE_WANTED, at_least=False)


PARTS = {"appends": measure_appends, "log": measure_log, "memory": measure_memory}


def main() -> int:
    parser = parser_of(__doc__, rounds=3)
    parser.add_argument("--only", choices=PARTS, help="one part (default: all)")
    parser.add_argument(
        "--seconds", type=float, default=4.0, help="of each measurement of appends (%(default)g)"
    )
    parser.add_argument("--producers", type=int, default=1_000, help="at the same time (%(default)s)")
    parser.add_argument(
        "--sync-ms",
        type=float,
        nargs="*",
        default=[],
        metavar="MS",
        help="measure appends also on disks whose syncs take at least so long",
    )
    parser.add_argument("--log-mb", type=int, default=1_000, help="megabytes of events (%(default)s)")
    parser.add_argument(
        "--segments", type=int, nargs="*", default=[1_000, 10_000], help="of memory (%(default)s)"
    )
    parser.add_argument("--idle-s", type=float, default=10.0, help="seconds of an idle store (%(default)g)")
    parser.add_argument("--data", metavar="DIR", help="folder for the stores (default: a temporary one)")
    options = parser.parse_args()
    run = Run("A durable store")
    with tempfile.TemporaryDirectory(dir=options.data) as folder:
        for name, measure in PARTS.items():
            if options.only in (None, name):
                measure(run, options, Path(folder))
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())
