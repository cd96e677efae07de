"""``pravega-lab standalone``: an embedded Pravega in this process, until it is asked to stop.

As soon as it can be used it prints exactly one line on standard output, ``ready tcp://host:port`` with the
controller's address. It ends on SIGTERM and SIGINT, with ``--with-parent`` also when its standard input
closes, and at once when a write to its log fails. Everything else goes to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pravega_lab.errors import BadInputError, StoreFullError, StoreUnavailableError

from ..store.errors import DiskFull
from ..store.log.disk import MemoryDisk, RealDisk
from ..store.log.files import DEFAULT_FILE_BYTES
from .allocator import keep_freed_memory
from .connection import SegmentStoreProtocol
from .runner import StoreRunner

if TYPE_CHECKING:
    import grpc.aio

log = logging.getLogger("pravega_lab.standalone")

CONTROLLER_PORT, SEGMENT_STORE_PORT = 9090, 12345
"""The default ports of upstream (pravega.md D7)."""
PORT_MAX = 65_535

EXIT_FAILED_WRITE = 3
STOP_GRACE_S = 2.0
DRAIN_S = 5.0
MEMORY_FILE_BYTES = 8 << 20
"""File size of a store in memory. It is small because truncated and deleted data is freed file by file."""
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to ``parser``."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--advertised-host", help="address that clients are to use (that of --host)")
    ports = (("--controller-port", CONTROLLER_PORT), ("--segment-store-port", SEGMENT_STORE_PORT))
    for option, port in ports:
        parser.add_argument(
            option, type=_port, default=port, metavar="PORT", help="0: a free one (%(default)s)"
        )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=_folder, metavar="DIR", help="folder of the log; survives kill -9")
    where.add_argument("--memory", action="store_true", help="keep nothing (also without --data)")
    parser.add_argument(
        "--scaling-clock", type=int, default=1, metavar="N", help="auto-scaling runs N times as fast (1)"
    )
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input closes")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: give 1 to {PORT_MAX}, or 0 for a free one")
    return int(text)


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("'' is not a folder: name one, or give --memory")
    return Path(text)


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop. Return 0 if it ended as asked, 3 if a write to the log failed.

    Raises:
        PravegaError: It cannot start: port or folder in use, disk full, log damaged.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    if args.scaling_clock < 1:
        raise BadInputError(f"--scaling-clock {args.scaling_clock}: give a whole number from 1")
    keep_freed_memory()
    disk = _open_disk(args.data)
    try:
        return asyncio.run(_Standalone(args, disk).serve())
    finally:
        if isinstance(disk, RealDisk):
            disk.close()


def _open_disk(folder: Path | None) -> MemoryDisk | RealDisk:
    if folder is None:
        return MemoryDisk(is_reopened=False)
    try:
        return RealDisk(folder)
    except DiskFull as error:
        raise StoreFullError(
            f"The folder {str(folder)!r} cannot hold a store: {error}. Make room, or give another --data."
        ) from error
    except OSError as error:
        raise StoreUnavailableError(
            f"The folder {str(folder)!r} cannot hold a store: {error}. Give another --data."
        ) from error


class WallClock:
    """Returns the time of day in ms since 1970. The time never goes back."""

    def __init__(self) -> None:
        self._last_ms = 0

    def __call__(self) -> int:
        self._last_ms = max(self._last_ms, time.time_ns() // 1_000_000)
        return self._last_ms


class _Standalone:
    """The process: two listening ports around a `StoreRunner`."""

    def __init__(self, args: argparse.Namespace, disk: MemoryDisk | RealDisk) -> None:
        self._args = args
        self._disk = disk
        self._host = args.advertised_host or WILDCARDS.get(args.host, args.host)

    async def serve(self) -> int:
        """Serve until stopped, and return the exit code."""
        loop = asyncio.get_running_loop()
        self._check_room()
        self._stop = asyncio.Event()
        speed = self._args.scaling_clock
        size = DEFAULT_FILE_BYTES if isinstance(self._disk, RealDisk) else MEMORY_FILE_BYTES
        self._runner = StoreRunner(
            self._disk, loop, WallClock(), uuid.uuid4, scaling_clock=speed, file_bytes=size
        )
        running = loop.create_task(self._runner.run())
        server = await self._listen(loop)
        store_port = server.sockets[0].getsockname()[1]
        self._runner.serve_controller(self._host, store_port)
        self._controller, controller_port = await _serve_grpc(self._runner, self._args)
        self._watch_for_the_end(loop)
        print(f"ready tcp://{self._host}:{controller_port}", flush=True)
        stopped = loop.create_task(self._stop.wait())
        await asyncio.wait([running, stopped], return_when=asyncio.FIRST_COMPLETED)
        server.close()
        if running.done():
            return await self._give_up(running)
        await self._shut_down()
        if running.done():
            return await self._give_up(running)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return 0

    def _check_room(self) -> None:
        """Refuse a new store here if the disk has no room for it, and not at its first append."""
        if not isinstance(self._disk, RealDisk) or self._disk.files():
            return
        free = shutil.disk_usage(self._disk.folder).free
        if free < DEFAULT_FILE_BYTES:
            raise StoreFullError(
                f"No room for a store in {str(self._disk.folder)!r}: {free} bytes are free, and its log"
                f" begins with {DEFAULT_FILE_BYTES}. Make room, or give another --data."
            )

    async def _listen(self, loop: asyncio.AbstractEventLoop) -> asyncio.Server:
        host, port = self._args.host, self._args.segment_store_port
        store = self._runner.segment_store
        try:
            return await loop.create_server(lambda: SegmentStoreProtocol(store), host, port)
        except socket.gaierror as error:
            raise BadInputError(
                f"The host {host!r} is unknown ({error.strerror}). Give --host an address of this machine,"
                " 127.0.0.1 for this machine alone or 0.0.0.0 for the network."
            ) from error
        except OSError as error:
            raise BadInputError(
                f"The segment store cannot listen on {host}:{port} ({error.strerror}). Is another store"
                " running there? Give another --segment-store-port, or 0 for a free one."
            ) from error

    def _watch_for_the_end(self, loop: asyncio.AbstractEventLoop) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        if self._args.with_parent:
            end = lambda: loop.call_soon_threadsafe(self._stop.set)  # noqa: E731
            threading.Thread(target=_wait_for_end_of_input, args=(end,), daemon=True).start()

    async def _shut_down(self) -> None:
        """Accept nothing new, finish what was accepted, answer the held reads, and close.

        A disk without room is not waited for: what is left was not acknowledged to anyone.
        """
        store = self._runner.segment_store
        store.answer_held_reads()
        await self._controller.stop(STOP_GRACE_S)
        store.close()
        if not await self._runner.drain(DRAIN_S):
            log.warning("Stopped with requests that were not answered: the disk has no room for them.")
            return store.abort()
        deadline = time.monotonic() + STOP_GRACE_S
        while store.connections and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        store.abort()
        await self._runner.drain(DRAIN_S)  # what the controller did on its own since the first drain
        return None

    async def _give_up(self, running: asyncio.Task[None]) -> int:
        """Close at once. Requests that were not acknowledged may or may not be on disk, so none of them is
        answered.
        """
        self._runner.segment_store.abort()
        await self._controller.stop(None)
        failure = running.exception()
        log.critical(
            "The log cannot be written: %s. Acknowledged data is safe. Fix the disk and start again.",
            failure,
            # An error of the disk needs no traceback, an error of this program does.
            exc_info=None if isinstance(failure, OSError) else failure,
        )
        return EXIT_FAILED_WRITE


async def _serve_grpc(runner: StoreRunner, args: argparse.Namespace) -> tuple[grpc.aio.Server, int]:
    from .grpc import serve

    return await serve(runner, args.host, args.controller_port)


def _wait_for_end_of_input(then: Callable[[], object]) -> None:
    descriptor = sys.stdin.fileno()
    while os.read(descriptor, 4096):
        pass
    then()
