"""The option of the registry's port, and what it starts."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Callable

from pravega_lab.errors import BadInputError

from ...store.log_fields import log_fields
from ..runner import StoreRunner
from ..security.options import Security
from .port import RegistryPort

log = logging.getLogger("pravega_lab.standalone")


def add_arguments(parser: argparse.ArgumentParser, port: Callable[[str], int]) -> None:
    """Add the option to the parser of the command. ``port`` reads a number of a port."""
    group = parser.add_argument_group("schema registry")
    group.add_argument(
        "--registry-port",
        type=port,
        metavar="PORT",
        help="serve a schema registry here, on the address of --host; 0: a free one (off)",
    )


async def serve_registry(
    args: argparse.Namespace, runner: StoreRunner, security: Security, host: str
) -> tuple[asyncio.Server, RegistryPort] | None:
    """Serve the registry if there is an option for it. Its address is a line of the log.

    Raises:
        BadInputError: It cannot listen there.
    """
    if args.registry_port is None:
        return None
    port = RegistryPort(runner, security.authenticator)
    tls = None if security.certificate is None else security.certificate.context
    try:
        server = await port.listen(args.host, args.registry_port, tls)
    except OSError as error:
        raise BadInputError(
            f"The schema registry cannot listen on {args.host}:{args.registry_port} ({error.strerror})."
            " Give another --registry-port, or 0 for a free one."
        ) from error
    number = server.sockets[0].getsockname()[1]
    url = f"{'http' if tls is None else 'https'}://{f'[{host}]' if ':' in host else host}:{number}"
    log.info("the schema registry is served", extra=log_fields("registry_open", url=url))
    return server, port
