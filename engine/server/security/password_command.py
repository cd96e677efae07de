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
    password = _from_terminal() if sys.stdin.isatty() else _from_input()
    try:
        line = password_line(args.user, password, args.acl, os.urandom(SALT_BYTES))
        sys.stdout.buffer.write(f"{line}\n".encode())
    except UnicodeEncodeError as error:
        raise BadInputError("user, password and permissions are texts in UTF-8, and one is not") from error
    sys.stdout.buffer.flush()
    return 0


def _from_input() -> str:
    try:
        return sys.stdin.buffer.readline().decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise BadInputError("the password on standard input is no text in UTF-8") from None


def _from_terminal() -> str:
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise BadInputError("the two passwords differ: run the command again")
    return password
