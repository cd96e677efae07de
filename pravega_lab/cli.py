"""The command line: ``pravega-lab standalone | demo | simulate | doctor``.

Each command lives in a module that offers ``add_arguments(parser)`` and ``run(args) -> int``. Only the
module of the command that was asked for is imported, so that ``standalone`` starts without Spark.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from pravega_lab import __version__
from pravega_lab.errors import PravegaError

COMMANDS = {
    "standalone": ("pravega_lab.engine.server.standalone", "run an embedded store in this process"),
    "demo": (
        "pravega_lab.demo.command",
        "flights through a splitting stream, Spark killed and restarted, exactly once",
    ),
    "simulate": (
        "pravega_lab.engine.simulation.command",
        "run seeded simulations with faults and check them",
    ),
    "doctor": ("pravega_lab.doctor", "say what this machine has and what to do where something is missing"),
}


def build_parser(command: str | None) -> argparse.ArgumentParser:
    """The parser, with the arguments of ``command`` only; the others are listed by name."""
    parser = argparse.ArgumentParser(prog="pravega-lab", description="A laboratory for streaming storage.")
    parser.add_argument("--version", action="version", version=f"pravega-lab {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary)
        if name == command:
            import_module(module).add_arguments(sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 only if it did what it says. Errors of ours are one sentence on standard error."""
    words = list(sys.argv[1:] if argv is None else argv)
    command = next((w for w in words if w in COMMANDS), None)
    parser = build_parser(command)
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return 2
    try:
        result: int = import_module(COMMANDS[args.command][0]).run(args)
    except PravegaError as error:
        print(f"pravega-lab {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return result


if __name__ == "__main__":
    sys.exit(main())
