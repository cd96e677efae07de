"""``pravega-lab standalone``: an embedded Pravega in this process, until it is asked to stop.

As soon as it can be used it prints exactly one line on standard output, ``ready tcp://host:port`` with the
controller's address (``tls://`` with a certificate). It ends on SIGTERM and SIGINT, with ``--with-parent``
also when its standard input closes, and at once when a write to its log fails. Everything else goes to
standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import BadInputError, PravegaError, StoreFullError, StoreUnavailableError
from pravega_lab.portable.waiting import FIRST_COMPLETED, gather, wait, wait_for

from ..store.errors import DiskFull, StorageError, TierMismatch
from ..store.log.disk import MemoryDisk, RealDisk
from ..store.log.files import DEFAULT_FILE_BYTES
from ..store.log_fields import log_fields
from ..store.tiers.settings import TierSettings
from .allocator import FreedMemory, collect_young, keep_freed_memory
from .connection import SegmentStoreProtocol
from .limits.descriptors import report_in_words, take_descriptors
from .limits.limits import Limits, add_options, limits_of
from .limits.log_lines import LogLines
from .limits.passes import ACCEPTED_AT_ONCE, new_loop, wait_in_the_system
from .monitoring import logs
from .monitoring import options as monitoring_options
from .monitoring.options import serve_admin_port
from .registry import options as registry_options
from .registry.options import serve_registry
from .runner import StoreRunner
from .security import options as security_options
from .security.options import Security
from .segment_store import DISMISSED_AT_ONCE
from .tiers import options as tier_options
from .tiers.loop import attach_early
from .tiers.objects import FsspecObjects
from .tiers.rebuild import rebuild, refuse_other_store
from .transient_segments import TransientSegments

if TYPE_CHECKING:
    import grpc.aio

log = logging.getLogger("pravega_lab.standalone")

CONTROLLER_PORT, SEGMENT_STORE_PORT = 9090, 12345
"""The default ports of upstream (pravega.md D7)."""
PORT_MAX = 65_535
SCALING_CLOCK_MAX = 1_000_000
"""The period of retention is 2 ms then. With more, the store would do little else."""

EXIT_FAILED_WRITE = 3
_SAFE = " Acknowledged data is safe. Fix the disk and start again."
STOP_GRACE_S = 2.0
DRAIN_S = 5.0
HOUSEKEEPING_S = 1.0
CHECK_SHARE = 0.05
"""The checks of the log files take at most this share of a thread. Most stores have few files."""
SWITCH_S = 0.0005
"""The thread that syncs waits at most so long for the loop's thread when its write is done."""
ATTACH_S = 10.0
"""Time for tier 2 to answer at the start. A store whose tier 2 does not answer serves what is in its log."""
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
        "--scaling-clock",
        type=int,
        default=1,
        metavar="N",
        help="auto-scaling and the period of retention run N times as fast (1)",
    )
    tier_options.add_arguments(parser)
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input closes")
    security_options.add_arguments(parser)
    add_options(parser)
    monitoring_options.add_arguments(parser, _port)
    registry_options.add_arguments(parser, _port)


def _port(text: str) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    if not is_number or int(text) > PORT_MAX:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a port: give 1 to {PORT_MAX}, or 0 for a free one"
        )
    return int(text)


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("'' is not a folder: name one, or give --memory")
    return Path(text)


def run(args: argparse.Namespace) -> int:
    """Serve until asked to stop. Return 0 if it ended as asked, 3 if a write to the log failed.

    Raises:
        PravegaError: It cannot start: port or folder in use, disk full, log damaged.
    """
    counts = logs.set_up(args.log_format)
    if not 1 <= args.scaling_clock <= SCALING_CLOCK_MAX:
        raise BadInputError(
            f"--scaling-clock {args.scaling_clock}: give a whole number from 1 to {SCALING_CLOCK_MAX}"
        )
    security_options.check_host(args)
    settings = tier_options.settings_of(args)
    tier = None if settings is None else _open_tier(args, settings)
    limits = limits_of(args)
    for handler in logging.getLogger().handlers:
        handler.addFilter(LogLines(limits.log_lines, time.monotonic))
    limits = take_descriptors(limits)
    keep_freed_memory()
    sys.setswitchinterval(SWITCH_S)
    disk = _open_disk(args.data)
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(_Standalone(args, disk, limits, Security(args), counts, tier).serve())
    finally:
        if tier is not None:
            tier.objects.close()
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


@contextlib.contextmanager
def _naming_the_folder(disk: MemoryDisk | RealDisk, what: str) -> Iterator[None]:
    """Raise StoreUnavailableError with the folder's name in place of an OSError of the disk."""
    try:
        yield
    except OSError as error:
        folder = str(disk.folder) if isinstance(disk, RealDisk) else "memory"
        raise StoreUnavailableError(
            f"The files of the store in {folder!r} cannot be {what}: {error}. Look at their owner and mode,"
            " and at the disk, then start again. Nothing was served."
        ) from error


@dataclass(frozen=True, slots=True)
class _Tier:
    """The folder in tier 2, and when segments move there."""

    objects: FsspecObjects
    settings: TierSettings


def _open_tier(args: argparse.Namespace, settings: TierSettings) -> _Tier:
    return _Tier(FsspecObjects(args.tier2, tier_options.storage_options(args.tier2_options)), settings)


def wall_ms() -> int:
    """Return the time of day in ms since 1970."""
    return time.time_ns() // 1_000_000


class _Standalone:
    """The process: two listening ports around a `StoreRunner`."""

    def __init__(
        self,
        args: argparse.Namespace,
        disk: MemoryDisk | RealDisk,
        limits: Limits,
        security: Security,
        counts: logs.LevelCounts,
        tier: _Tier | None = None,
    ) -> None:
        self._args = args
        self._limits = limits
        self._counts = counts
        self._disk = disk
        self._security = security
        self._tier = tier
        self._host = args.advertised_host or security.advertised(WILDCARDS.get(args.host, args.host))

    async def serve(self) -> int:
        """Serve until stopped, and return the exit code."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(report_in_words)
        self._check_room()
        self._stop = asyncio.Event()
        speed = self._args.scaling_clock
        size = DEFAULT_FILE_BYTES if isinstance(self._disk, RealDisk) else MEMORY_FILE_BYTES
        tier_of_runner: dict[str, Any] = {}
        if self._tier is not None:
            size = tier_options.file_bytes_of(self._tier.settings)
            tier_of_runner = {"objects": self._tier.objects, "tier_settings": self._tier.settings}
            await self._prepare_tier(self._tier.objects)
        with _naming_the_folder(self._disk, "read"):
            self._runner = StoreRunner(
                *(self._disk, loop, wall_ms, uuid.uuid4),
                scaling_clock=speed,
                file_bytes=size,
                access=self._security.access,
                limits=self._limits,
                **tier_of_runner,
            )
        self._runner.answer_promptly(self._disk)
        if self._runner.tier is not None:
            await attach_early(self._runner.tier, ATTACH_S)
        with _naming_the_folder(self._disk, "written"):
            await self._runner.begin()
        collect_young()
        running = loop.create_task(self._runner.run())
        server = await self._listen(loop)
        store_port = server.sockets[0].getsockname()[1]
        self._runner.serve_controller(self._host, store_port)
        self._controller, controller_port = await _serve_grpc(self._runner, self._args, self._security)
        admin = await serve_admin_port(self._args, self._runner, self._disk, self._counts)
        registry = await serve_registry(self._args, self._runner, self._security, self._host)
        self._watch_for_the_end(loop)
        print(f"ready {self._security.scheme}://{self._host}:{controller_port}", flush=True)
        stopped = loop.create_task(self._stop.wait())
        keeping = [loop.create_task(work) for work in (self._keep_house(), self._check_files())]
        await wait([running, stopped], return_when=FIRST_COMPLETED)
        for task in keeping:
            task.cancel()
        server.close()
        if admin is not None:
            admin.close()
        if registry is not None:
            registry[0].close()
            registry[1].end()
        if running.done():
            return await self._give_up(running)
        await self._shut_down()
        if running.done():
            return await self._give_up(running)
        running.cancel()
        await gather(running, return_exceptions=True)
        try:
            if isinstance(self._disk, RealDisk):
                await self._disk.check_logs()
            if not await self._runner.end():
                log.warning("The stop is not recorded: the next start takes it for a crash.")
        except OSError as error:  # the folder is gone, for example
            log.critical(
                "The stop cannot be recorded in the folder of the store: %s. Look whether its files are there"
                " before you start it again: the next start takes this stop for a crash.",
                error,
                extra=log_fields("stop_failed"),
            )
            return EXIT_FAILED_WRITE
        return 0

    async def _prepare_tier(self, objects: FsspecObjects) -> None:
        """Rebuild the store from tier 2 if that was asked for, and refuse the tier of another store."""
        if self._args.tier2_rebuild:
            try:
                rebuilt = await rebuild(self._disk, objects)
            except PravegaError:
                raise
            except Exception as error:  # each file system raises errors of its own
                why = str(error).rstrip(".")
                raise StoreUnavailableError(
                    f"The store cannot be rebuilt, because tier 2 or the --data folder failed: {why}."
                    " Check --tier2 and --tier2-options, and start again: neither was changed."
                ) from error
            log.warning(
                "The snapshot after group %d was copied from tier 2, and %d log files are left to replay.",
                rebuilt.sequence,
                rebuilt.log_files,
            )
            return
        try:
            await wait_for(refuse_other_store(self._disk, objects), ATTACH_S)
        except StorageError:
            raise
        except Exception as error:
            kind = type(error).__name__
            log.warning("tier 2 cannot be read (%s: %s); the store serves what is in its log", kind, error)

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
        store, certificate = self._runner.segment_store, self._security.certificate
        tls = None if certificate is None else certificate.context
        try:
            server = await loop.create_server(
                lambda: SegmentStoreProtocol(store),
                *(host, port),
                backlog=ACCEPTED_AT_ONCE,
                ssl=tls,
                ssl_handshake_timeout=None if tls is None else self._limits.frame_s,
            )
            wait_in_the_system(server)
            return server
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

    async def _keep_house(self) -> None:
        storage, store = self._runner.storage, self._runner.segment_store
        memory, transients = FreedMemory(storage.shrink), TransientSegments(storage)
        while True:
            await asyncio.sleep(HOUSEKEEPING_S)
            while store.dismiss_the_slow() >= DISMISSED_AT_ONCE:
                await asyncio.sleep(0)
            memory.look(store.pieces_received, store.connections_ended)
            transients.look(self._runner.now_ms())

    async def _check_files(self) -> None:
        """Let the disk refuse groups soon after a log file was removed, replaced or cut."""
        while isinstance(self._disk, RealDisk):
            began_s = time.monotonic()
            with contextlib.suppress(OSError):  # the next group raises it, or it was no harm to a file
                await self._disk.check_logs()
            await asyncio.sleep(max(HOUSEKEEPING_S, (time.monotonic() - began_s) / CHECK_SHARE))

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
            log.warning(
                "Stopped with requests that were not answered: the disk has no room for them.",
                extra=log_fields("stopped_full"),
            )
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
        if isinstance(failure, TierMismatch):
            log.critical("The store stops, and acknowledged data is safe: %s", failure)
            return EXIT_FAILED_WRITE
        log.critical(
            "The store stops, because its log cannot be written: %s.%s",
            failure,
            "" if getattr(failure, "errno", 0) == errno.ESTALE else _SAFE,
            # An error of the disk needs no traceback, an error of this program does.
            exc_info=None if isinstance(failure, OSError) else failure,
            extra=log_fields("write_failed"),
        )
        return EXIT_FAILED_WRITE


async def _serve_grpc(
    runner: StoreRunner, args: argparse.Namespace, security: Security
) -> tuple[grpc.aio.Server, int]:
    # Its C core reads this when it is imported. It writes a line for each failed handshake, past `LogLines`.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # A client sets it for the programs that it forks. A store has many connections, and forks none.
    os.environ.pop("GRPC_POLL_STRATEGY", None)
    from .grpc import serve

    return await serve(runner, args.host, args.controller_port, security)


def _wait_for_end_of_input(then: Callable[[], object]) -> None:
    descriptor = sys.stdin.fileno()
    while os.read(descriptor, 4096):
        pass
    then()
