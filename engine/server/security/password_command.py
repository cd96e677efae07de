"""``pravega-lab password``: print the line of a user for a password file.

The password is read from the terminal without an echo, or from standard input. It is no argument, because
other users of a machine can see those.
"""

from __future__ import annotations

import argparse
import getpass
import os
import sys

from pravega_lab.errors import BadInputError

from ...store.security.passwords import SALT_BYTES, password_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to ``parser``."""
    parser.add_argument("user", metavar="USER", help="name of the user")
    parser.add_argument(
        "acl",
        metavar="ACL",
        help="permissions: 'prn::/scope:a/*,READ;prn::/scope:b/stream:c,READ_UPDATE' for example, or "
        "'prn::*,READ_UPDATE' for everything",
    )


def run(args: argparse.Namespace) -> int:
    """Print the line on standard output. Raises BadInputError."""
    password = _from_terminal() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    print(password_line(args.user, password, args.acl, os.urandom(SALT_BYTES)))
    return 0


def _from_terminal() -> str:
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise BadInputError("the two passwords differ: run the command again")
    return password
