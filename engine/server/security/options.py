"""The options of `pravega-lab standalone` that are about security, and what they become.

The store refuses to listen beyond the loopback without TLS and authentication, unless ``--insecure`` is
given.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.addresses import is_loopback

from ...store.security.access_control import AccessControl
from ...store.security.tokens import TTL_S
from .authentication import Authenticator
from .files import Certificate, read_users, token_key

TTL_S_MAX = (1 << 31) - 1
"""About 68 years. Clients keep the time of expiry as a number of 64 bits at most."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of the command."""
    group = parser.add_argument_group("security")
    group.add_argument("--tls-cert", type=Path, metavar="PEM", help="certificate: serve TLS on both ports")
    group.add_argument(
        "--tls-key", type=Path, metavar="PEM", help="its private key, readable by its owner only"
    )
    group.add_argument(
        "--password-file",
        type=Path,
        metavar="FILE",
        help="users, hashes and permissions, as 'pravega-lab password' prints them; demands credentials",
    )
    group.add_argument(
        "--token-ttl",
        type=int,
        default=TTL_S,
        metavar="SECONDS",
        help="lifetime of a delegation token (%(default)s)",
    )
    group.add_argument(
        "--insecure",
        action="store_true",
        help="listen beyond the loopback although there is no TLS or no authentication",
    )


class Security:
    """What the options of a store say: a certificate or None, and users with their permissions or None.

    Raises:
        BadInputError: An option is missing its companion, or a file is bad.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        if (args.tls_cert is None) != (args.tls_key is None):
            raise BadInputError("a certificate needs its key: give both --tls-cert and --tls-key")
        if not 1 <= args.token_ttl <= TTL_S_MAX:
            raise BadInputError(
                f"--token-ttl {args.token_ttl}: give a whole number of seconds from 1 to {TTL_S_MAX}"
            )
        self.certificate = None if args.tls_cert is None else Certificate(args.tls_cert, args.tls_key)
        self.access: AccessControl | None = None
        self.authenticator: Authenticator | None = None
        if args.password_file is not None:
            users = read_users(args.password_file)
            self.access = AccessControl(users, token_key(args.data), args.token_ttl)
            self.authenticator = Authenticator(users)

    @property
    def scheme(self) -> str:
        """Return the scheme of the store's address."""
        return "tcp" if self.certificate is None else "tls"

    def advertised(self, host: str) -> str:
        """Return the name under which clients are sent to ``host``.

        With TLS it is ``localhost`` for the loopback: the Rust and Python clients take no bare address.
        """
        return "localhost" if self.certificate is not None and is_loopback(host) else host


def check_host(args: argparse.Namespace) -> None:
    """Refuse an address that other machines can reach if anybody could read and write there.

    Raises:
        BadInputError: There is no TLS or no password file, and no ``--insecure``.
    """
    if args.insecure or is_loopback(args.host):
        return
    needed = {"--tls-cert and --tls-key": args.tls_cert, "--password-file": args.password_file}
    missing = [option for option, value in needed.items() if value is None]
    if missing:
        raise BadInputError(
            f"--host {args.host} lets other machines in, and there is no {' and no '.join(missing)}. Give"
            f" {'them' if len(missing) > 1 else 'it'}, or --insecure if everybody there may read and write."
        )
