"""The stores that are compared: ours in memory and on disk, each a process, and a released Pravega."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pravega_lab.engine.server.store_process import StoreProcess

DISK = "the disk alone, 4 KiB appended and synced, 1/s"
SYNCED_BYTES = 200
MEMORY, DURABLE, REAL = "memory", "durable", "Pravega 0.13.0"
NAMES = {"memory": MEMORY, "durable": DURABLE, "real": REAL}


def add_store_options(parser: argparse.ArgumentParser, default: str = "memory,durable,real") -> None:
    """Which stores, and where a durable one is."""
    parser.add_argument(
        "--stores",
        type=_names,
        default=_names(default),
        metavar="A,B",
        help=f"of {', '.join(NAMES)} (default: {default}); real is a released standalone, its log in memory",
    )
    parser.add_argument("--data", metavar="DIR", help="durable store in a new folder in here")


def _names(text: str) -> list[str]:
    unknown = [name for name in text.split(",") if name not in NAMES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are {', '.join(NAMES)}")
    return text.split(",")


@contextmanager
def running(options: argparse.Namespace) -> Iterator[dict[str, str]]:
    """URIs of the wanted stores; a real one that cannot run is left out, in words."""
    with ExitStack() as stack:
        uris = {}
        for name in options.stores:
            uri = _start(name, options, stack)
            if uri:
                uris[NAMES[name]] = uri
        yield uris


def _start(name: str, options: argparse.Namespace, stack: ExitStack) -> str | None:
    if name == "real":
        return _start_real(stack)
    folder = None
    if name == "durable":
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=options.data)) + "/store"
    return stack.enter_context(StoreProcess(folder)).uri


def _start_real(stack: ExitStack) -> str | None:
    from tests.conformance.real_pravega import NoRealPravegaError, RealPravega

    try:
        return stack.enter_context(RealPravega(heap="2g"))
    except NoRealPravegaError as error:
        print(f"NOT COMPARED WITH A REAL PRAVEGA: {error}", file=sys.stderr)
        return None


def syncs_per_second(folder: str | None, count: int = 50) -> float:
    """What the disk under a durable store does by itself: small appends, each synced."""
    with tempfile.TemporaryFile(dir=folder) as file:
        begin = time.perf_counter()
        for _ in range(count):
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
        return count / (time.perf_counter() - begin)


def sync_ms(folder: str | None, count: int = 500) -> tuple[float, float]:
    """Return the median and the 99th percentile of the disk's own sync: small writes into a file of zeros."""
    found = []
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(SYNCED_BYTES * count))
        file.flush()
        os.fsync(file.fileno())
        for number in range(count):
            begin = time.perf_counter()
            os.pwrite(file.fileno(), b"x" * SYNCED_BYTES, SYNCED_BYTES * number)
            os.fdatasync(file.fileno())
            found.append((time.perf_counter() - begin) * 1e3)
    cut_points = statistics.quantiles(found, n=100)
    return cut_points[49], cut_points[98]
