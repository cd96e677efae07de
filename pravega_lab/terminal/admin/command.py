"""``pravega-lab admin``: look at a store's data folder, check it, back it up, restore it, compact it.

The output is a table, or with ``--json`` a line of JSON for each row.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from pravega_lab.engine.server.tiers.options import storage_options
from pravega_lab.errors import BadInputError
from pravega_lab.terminal.text import printable

from .backup import backup, restore
from .compact import compact
from .tables import Row, check, finding_row, rows

ACTIONS = {
    "list": "streams and reader groups",
    "inspect": "the segments of a stream, where the bytes of a segment are, or the files of the store",
    "dump": "every operation in the log, or in one log file",
    "verify": "check every checksum (--tier2: of chunks too) and every rule of the metadata; print a verdict",
    "backup": "copy the store, which may be running, to the new folder --to",
    "restore": "make the new data folder of the backup --from",
    "compact": "rewrite the log of a stopped store to what its streams need",
}

#: The actions that write files, not only the output.
CHANGING = ("backup", "restore", "compact")

#: The fields of a `Verdict` that ``verify --json`` prints.
COUNTS = (
    *("files", "groups", "log_bytes", "segments", "records"),
    *("chunks", "unchecked_chunks", "unchecked_bytes"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    about = "; ".join(f"{action}: {what}" for action, what in ACTIONS.items())
    parser.add_argument("action", choices=tuple(ACTIONS), help=about)
    parser.add_argument(
        "what", nargs="?", metavar="NAME", help="of inspect: SCOPE/STREAM or a segment; of dump: a log file"
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the store's data folder")
    parser.add_argument("--to", type=Path, metavar="DIR", help="of backup: the new folder of the backup")
    parser.add_argument("--from", type=Path, metavar="DIR", dest="source", help="of restore: the backup")
    parser.add_argument(
        "--tier2",
        metavar="URL",
        help="of backup and verify: the folder in tier 2 that the store uses; of restore: a new one",
    )
    parser.add_argument("--tier2-options", metavar="JSON", help="options of its file system")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each row, and for the result")


def run(args: argparse.Namespace) -> int:
    """Carry out one action. Return 0 if it succeeded, for `verify` if the store is sound, and 1 otherwise.

    Raises:
        BadInputError: The options do not fit the action, or the folder is no store.
        PravegaError: The action was refused, or the store is damaged.
    """
    _check_options(args)
    try:
        return _carry_out(args)
    except BrokenPipeError:  # main ends the command
        raise
    except OSError as error:
        if error.errno == errno.ENOSPC and args.action not in CHANGING:
            raise  # main says that it is the output: these actions write nothing else
        name = error.filename
        step = f"use {os.fsdecode(name)!r}" if isinstance(name, str | bytes) else "continue"
        raise BadInputError(
            f"{args.action} cannot {step}: {error.strerror or error}. Look at the owner and the mode of"
            " the files and folders, and at the room on the disk, then try again."
        ) from error


def _carry_out(args: argparse.Namespace) -> int:
    match args.action:
        case "list":
            return _list(args)
        case "inspect":
            return _inspect(args)
        case "dump":
            return _print_rows(args, rows(args.data, "operations", args.what))
        case "verify":
            return _verify(args)
        case _:
            return _change(args)


def _check_options(args: argparse.Namespace) -> None:
    if args.what is not None and args.action not in ("inspect", "dump"):
        raise BadInputError(f"{args.action} takes no name, and {args.what!r} was given")
    for option, value, action in (("--to", args.to, "backup"), ("--from", args.source, "restore")):
        if (value is not None) != (args.action == action):
            verb = "needs" if value is None else "takes no"
            raise BadInputError(f"{args.action} {verb} {option} DIR")
    if args.tier2 is not None and args.action not in ("verify", "backup", "restore"):
        raise BadInputError(f"{args.action} takes no --tier2: it looks at the data folder alone")


def _list(args: argparse.Namespace) -> int:
    streams, groups = rows(args.data, "streams"), rows(args.data, "groups")
    if args.json:
        return _print_json(
            [{"kind": "stream", **r} for r in streams] + [{"kind": "group", **r} for r in groups]
        )
    _print_table(streams, "no streams")
    print()
    _print_table(groups, "no reader groups")
    return 0


def _inspect(args: argparse.Namespace) -> int:
    if args.what is None:
        return _print_rows(args, rows(args.data, "files"))
    what = "segments" if args.what.count("/") == 1 else "pieces"
    return _print_rows(args, rows(args.data, what, args.what))


def _verify(args: argparse.Namespace) -> int:
    verdict = check(args.data, tier2=args.tier2, tier2_options=storage_options(args.tier2_options))
    found = [finding_row(finding) for finding in verdict.findings]
    if args.json:
        counts = {name: getattr(verdict, name) for name in COUNTS}
        end = {
            "verdict": "sound" if verdict.is_sound else "damaged",
            "is_running": verdict.is_running,
            **counts,
        }
        _print_json([*found, end])
    else:
        for finding in verdict.findings:
            print(printable(str(finding)))
        print(printable(f"{args.data}: {verdict}"))
    return 0 if verdict.is_sound else 1


def _change(args: argparse.Namespace) -> int:
    result: Row
    if args.action == "compact":
        done = compact(args.data)
        result = {"before_bytes": done.before_bytes, "after_bytes": done.after_bytes}
        line = f"{args.data}: {done.before_bytes} bytes before, {done.after_bytes} after; {done.verdict}"
    else:
        is_backup = args.action == "backup"
        work = partial(backup, args.data, args.to) if is_backup else partial(restore, args.source, args.data)
        copied = work(tier2=args.tier2, tier2_options=storage_options(args.tier2_options))
        result = {"folder": str(copied.folder), "files": copied.files, "size_bytes": copied.size_bytes}
        made = "backup" if is_backup else "restored store"
        line = (
            f"{made} in {copied.folder}: {copied.size_bytes} bytes in {copied.files} files; {copied.verdict}"
        )
    if args.json:
        return _print_json([{"action": args.action, **result}])
    print(printable(line))
    return 0


def _print_rows(args: argparse.Namespace, found: Sequence[Row]) -> int:
    if args.json:
        return _print_json(found)
    _print_table(found, "nothing")
    return 0


def _print_json(found: Iterable[Row]) -> int:
    for row in found:
        print(json.dumps(row, separators=(",", ":")))
    return 0


def _print_table(found: Sequence[Row], empty: str) -> None:
    if not found:
        print(empty)
        return
    names = list(found[0])
    lines = [names, *([_cell(row[name]) for name in names] for row in found)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(names))]
    widths[-1] = 0  # nothing follows the last column, which may be long
    is_number = [all(isinstance(row[name], int | None) for row in found) for name in names]
    for line in lines:
        cells = zip(line, widths, is_number, strict=True)
        text = "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        print(text.rstrip())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value))
