"""The command line: ``pravega-lab COMMAND``; `COMMANDS` lists the commands.

Each command has a module with ``add_arguments(parser)`` and ``run(args) -> int``. Only the module of the
requested command is imported, so that ``standalone`` starts without Spark.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from textwrap import wrap
from typing import Any, NoReturn

from pravega_lab import __version__
from pravega_lab.errors import EXTRA_OF, PravegaError
from pravega_lab.terminal.text import printable

COMMANDS = {
    "standalone": ("pravega_lab.engine.server.standalone", "run an embedded store in this process"),
    "password": (
        "pravega_lab.engine.server.security.password_command",
        "print the line of a user for a store's password file",
    ),
    "admin": (
        "pravega_lab.terminal.admin.command",
        "list, check, back up, restore or compact a store",
    ),
    "lab": ("pravega_lab.tutorials.lab_command", "open JupyterLab on the tutorials, in a folder of yours"),
    "demo": (
        "pravega_lab.demo.command",
        "flights through a splitting stream, Spark killed and restarted, exactly once",
    ),
    "simulate": (
        "pravega_lab.tutorials.play.command",
        "run seeded simulations with faults and check them",
    ),
    "watch": ("pravega_lab.terminal.command", "look at a cluster, or follow a reader group, in the terminal"),
    "savepoint": (
        "pravega_lab.engine.flow.checkpoint.command",
        "say what a job's checkpoint or savepoint holds",
    ),
    "catalog": (
        "pravega_lab.connector.spark.session.catalog_command",
        "print what a Spark session needs to have the catalog pravega",
    ),
    "doctor": (
        "pravega_lab.terminal.doctor",
        "say what this machine has and what to do where something is missing",
    ),
}

_LISTED_AT_MOST = 40  # names in a message

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _Help(argparse.HelpFormatter):
    """Keeps names with hyphens on one line, so that they can be searched and copied."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)


class _Parser(argparse.ArgumentParser):
    """Parses options written in full: the meaning of an abbreviation would change with new options."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False, formatter_class=_Help)

    def error(self, message: str) -> NoReturn:
        """End the program with one sentence: the usage of a command can be longer than a screen."""
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print the help or the version, and let `main` say if they cannot be written: argparse is silent."""
        if file is sys.stdout:
            print(message, end="", flush=True)
        else:
            super()._print_message(message, file)

    def refuse(self, what: str, word: str, known: Iterable[str]) -> NoReturn:
        """End the program with a message that names ``word``, the nearest known name and all known names."""
        names = sorted(known)
        near = get_close_matches(word, names, 1)
        hint = f"; did you mean {near[0]}?" if near else "."
        there_are = f"There are: {', '.join(names)}"
        listed = there_are if len(names) <= _LISTED_AT_MOST else f"See {self.prog} --help"
        self.exit(2, f"{self.prog}: error: there is no {what} {word!r}{hint} {listed}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            self.refuse(action.dest.replace("_", " "), str(value), map(str, action.choices))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but let the parser of the command refuse options that it does not know."""
        found, unknown = super().parse_known_args(args, namespace)
        optional = [one for one in self._actions if one.nargs == "?" and not one.option_strings]
        for action in optional:  # Python 3.11 leaves its word over if options come between
            if unknown and unknown[0][:1] != "-" and getattr(found, action.dest) is action.default:
                setattr(found, action.dest, unknown.pop(0))
        if unknown and unknown[0].startswith("-"):
            options = [option for option in self._option_string_actions if option.startswith("--")]
            self.refuse("option", unknown[0].split("=")[0], options)
        if unknown:
            self.error(
                f"{unknown[0]!r} is one word too many: values follow their options, as in --option value"
            )
        return found, unknown


def build_parser(command: str | None) -> _Parser:
    """Return the parser with the arguments of ``command``; other commands are listed by name."""
    parser = _Parser(prog="pravega-lab", description="A laboratory for streaming storage.")
    parser.add_argument("--version", action="version", version=f"pravega-lab {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary)
        if name == command:
            import_module(module).add_arguments(sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code, which is 0 only if the command did what it says.

    An error of pravega_lab, of a file that is named, or of a full disk is printed as one sentence on standard
    error. If no program reads the output any more, the command prints nothing and ends with the code of
    SIGPIPE.
    """
    _open_standard_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    command = next((w for w in words if w in COMMANDS), None)
    try:
        code = _run(words, command)
        print(end="", flush=True)  # before the interpreter flushes, outside of this `try`
        return code
    except PravegaError as error:
        # A message may quote names of a cluster, and a terminal would obey the escape sequences in them.
        print(printable(f"pravega-lab {command}: {error}", keep="\n"), file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our lines has closed its end, as in `pravega-lab ... | head`
        _drop_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.filename is None and error.errno not in _NO_ROOM:
            raise
        where = "the output" if error.filename is None else error.filename
        program = "pravega-lab" if command is None else f"pravega-lab {command}"
        print(printable(f"{program}: {where}: {error.strerror}"), file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        return 1
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRA_OF:
            raise
        # A command may need several of them, so name the extra with all.
        print(
            f"pravega-lab {command}: this needs {module}, which is not installed: "
            "pip install 'pravega-lab[lab]'",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        return 130


def _open_standard_streams() -> None:
    """Open the null device for each standard stream that is closed, as by ``2>&-`` in a shell.

    The next file would take its number otherwise, and what a C library writes to standard error would be
    written into the log of a store.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # numbers 0 to 2
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - until the end


def _drop_output() -> None:
    """Discard what is left of the output: the interpreter would try to write it, and print a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str], command: str | None) -> int:
    parser = build_parser(command)
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        parser.refuse("command", words[0], COMMANDS)
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return 2
    result: int = import_module(COMMANDS[args.command][0]).run(args)
    return result


if __name__ == "__main__":
    sys.exit(main())
