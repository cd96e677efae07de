"""The options of the admin port and of the log, and what they start."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shutil
from collections.abc import Callable

from pravega_lab.errors import BadInputError

from ...store.log.disk import Disk, RealDisk
from ...store.log_fields import log_fields
from ..runner import StoreRunner
from .admin_port import AdminPort
from .health import health_of
from .logs import FORMATS, LevelCounts
from .samples import Samples

log = logging.getLogger("pravega_lab.standalone")


def add_arguments(parser: argparse.ArgumentParser, port: Callable[[str], int]) -> None:
    """Add the options to the parser of the command. ``port`` reads a number of a port."""
    group = parser.add_argument_group("monitoring")
    group.add_argument(
        "--admin-port", type=port, metavar="PORT", help="serve /metrics and /health here; 0: a free one (off)"
    )
    group.add_argument("--admin-host", default="127.0.0.1", help="address of the admin port (%(default)s)")
    group.add_argument(
        "--log-format", choices=FORMATS, default="text", help="lines of key=value or of JSON (%(default)s)"
    )


async def serve_admin_port(
    args: argparse.Namespace, runner: StoreRunner, disk: Disk, counts: LevelCounts
) -> asyncio.Server | None:
    """Serve the admin port if there is an option for it. Its address is a line of the log.

    Raises:
        BadInputError: It cannot listen there.
    """
    if args.admin_port is None:
        return None
    samples = Samples(runner.storage, runner.segment_store, runner.pump, counts.counts, runner.tier)
    metadata = runner.metadata
    metadata.watchers.append(samples.tally.watch)
    folder = disk.folder if isinstance(disk, RealDisk) else None
    port = AdminPort(
        lambda: samples.collect(metadata.catalog, shutil.disk_usage(folder).free if folder else None),
        lambda: health_of(runner.storage, runner.segment_store, runner.tier.mover if runner.tier else None),
    )
    try:
        server = await port.listen(args.admin_host, args.admin_port)
    except OSError as error:
        raise BadInputError(
            f"The admin port cannot listen on {args.admin_host}:{args.admin_port} ({error})."
            " Give another --admin-port, or 0 for a free one."
        ) from error
    host, number = server.sockets[0].getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{number}"
    log.info("/metrics and /health are served", extra=log_fields("admin_port_open", url=url))
    return server
