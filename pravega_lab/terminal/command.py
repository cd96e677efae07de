"""``pravega-lab watch URI [scope[/group]]``: look at a cluster, or follow a reader group, in a terminal.

Nothing is written to the cluster: no reader is registered and no lease is taken. So it is safe to point it
at any running group, of Python, Java or Flink readers.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pravega_lab.client import Client, connect
from pravega_lab.client.connection.access import access_from, add_access_arguments
from pravega_lab.errors import BadInputError
from pravega_lab.observe import Journal, Watch, observe
from pravega_lab.observe.group.observations import GroupSeen
from pravega_lab.observe.journal.records import to_line
from pravega_lab.portable.leaving import on_sigterm
from pravega_lab.terminal.inventory import check_group, take_inventory, to_records
from pravega_lab.terminal.text import console, shown

if TYPE_CHECKING:
    from rich.console import Console

REFRESH_S = 0.5
SAVE_EVERY_S = 10.0
LIST_EVERY_S = 2.0
LOOK_S = 10.0
NOTEBOOK_HINT = (
    "from pravega_lab.observe import Journal; from pravega_lab.widgets import show; show(Journal.load({!r}))"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("uri", metavar="URI", help="the controller: tcp://host:9090 or tls://host:9090")
    parser.add_argument(
        "what",
        metavar="SCOPE[/GROUP]",
        nargs="?",
        help="a reader group to follow, or a scope to list; else all",
    )
    parser.add_argument("--once", action="store_true", help="print what is so now, and end")
    parser.add_argument(
        "--json", action="store_true", help="a line of JSON per observation, or per stream and group"
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        type=Path,
        help="of a group: save the journal in FILE, or continue the one that is there",
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="end after so many seconds")
    add_access_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Look until Ctrl-C, SIGTERM, ``--once`` or ``--seconds``; return 0 if there was something to look at.

    Raises:
        BadInputError: There is no such scope or group, or the options do not fit together.
    """
    is_group = args.what is not None and "/" in args.what
    if not is_group and args.record:
        raise BadInputError("--record follows one reader group: name it, as in SCOPE/GROUP")
    if args.seconds is not None and not args.seconds > 0:
        raise BadInputError(f"--seconds {args.seconds:g}: more than 0")
    try:
        with on_sigterm(signal.default_int_handler):  # as on Ctrl-C, so that a recording is saved
            return _follow(args) if is_group else _look(args)
    except KeyboardInterrupt:
        return 0


def _look(args: argparse.Namespace) -> int:
    with connect(args.uri, **access_from(args)) as client:
        return _list_json(args, client) if args.json else _list(args, client)


def _follow(args: argparse.Namespace) -> int:
    before = _recorded(args)
    with connect(args.uri, **access_from(args)) as client:
        check_group(client, args.what)
    with observe(args.uri, group=args.what, continues=before, **access_from(args)) as watch:
        watch.look(LOOK_S)
        recording = _Recording(args.record, watch)
        try:
            new = 0 if before is None else len(before)
            return _print_json(args, watch, recording, new) if args.json else _draw(args, watch, recording)
        finally:
            recording.end()


class _Recording:
    """The file of ``--record``, if there is one: saved at once, every ten seconds, and at the end. A save
    writes the whole journal, so that long ones are rarer: they take about a tenth of the time.

    Raises:
        OSError: It cannot be written at the beginning or at the end.
    """

    def __init__(self, path: Path | None, watch: Watch) -> None:
        self._path, self._watch = path, watch
        self._save()

    def _save(self) -> None:
        begun_s = time.monotonic()
        if self._path is not None:
            self._watch.save(self._path)
        ended_s = time.monotonic()
        self._next_s = ended_s + SAVE_EVERY_S * max(1.0, ended_s - begun_s)

    def keep_up(self) -> None:
        """Save if it is time. A file that cannot be written now is a warning, as it may be later."""
        if time.monotonic() < self._next_s:
            return
        try:
            self._save()
        except OSError as error:
            self._next_s = time.monotonic() + SAVE_EVERY_S
            print(f"--record {self._path}: not saved now: {error.strerror}", file=sys.stderr)

    def end(self) -> None:
        """Save for the last time, and say how to open the file in a notebook."""
        self._save()
        if self._path is not None:
            print(
                f"{len(self._watch.journal):,} observations in {self._path}. In a notebook:", file=sys.stderr
            )
            print(NOTEBOOK_HINT.format(str(self._path)), file=sys.stderr)  # a line of its own, to be pasted


def _recorded(args: argparse.Namespace) -> Journal | None:
    """Return the recording that ``--record`` names, if there is one.

    Raises:
        BadInputError: The file is no recording, or one of another group.
    """
    if not args.record or not args.record.exists():
        return None
    found = Journal.load(args.record)
    groups = {o.group for o in found.since() if isinstance(o, GroupSeen)}
    is_empty = not groups and found.source.startswith(f"group {args.what} at ")  # it never got an answer
    if args.what not in groups and not is_empty:
        raise BadInputError(f"{args.record} is a recording of {found.source}: give --record another file")
    return found


def _list_json(args: argparse.Namespace, client: Client) -> int:
    """Print a line for each stream and group, then one for each that has changed or is gone."""
    end_s = _end_s(args)
    known: dict[tuple[object, object], dict[str, object]] = {}
    while True:
        found = {(r["kind"], r["name"]): r for r in to_records(take_inventory(client, args.what))}
        gone = [
            {"kind": kind, "name": name, "is_gone": True} for kind, name in known if (kind, name) not in found
        ]
        for record in [*(r for key, r in found.items() if known.get(key) != r), *gone]:
            print(json.dumps({"time_ms": _now_ms(), **record}, separators=(",", ":")))
        sys.stdout.flush()
        known = found
        if args.once or time.monotonic() >= end_s:
            return 0
        time.sleep(min(LIST_EVERY_S, max(0.0, end_s - time.monotonic())))


def _list(args: argparse.Namespace, client: Client) -> int:
    from rich.live import Live

    from pravega_lab.terminal.screen import inventory_screen

    terminal = console()
    with terminal.status("asking for streams and reader groups") as status:
        found = take_inventory(client, args.what, lambda name: status.update(shown(f"asking for {name}")))
    screen = inventory_screen(found, _now_ms())
    if _looks_once(args, terminal):
        terminal.print(screen)
        return 0
    end_s = _end_s(args)
    with _whole_lines(terminal), Live(screen, console=terminal, auto_refresh=False) as live:
        while time.monotonic() < end_s:
            time.sleep(min(LIST_EVERY_S, max(0.0, end_s - time.monotonic())))
            live.update(inventory_screen(take_inventory(client, args.what), _now_ms()), refresh=True)
    return 0


def _draw(args: argparse.Namespace, watch: Watch, recording: _Recording) -> int:
    from rich.console import RenderableType
    from rich.live import Live

    from pravega_lab.terminal.screen import GroupFolds, group_screen

    terminal, folds = console(), GroupFolds(watch.journal)

    def screen() -> RenderableType:
        folds.catch_up()
        return group_screen(args.what, folds)

    if _looks_once(args, terminal):
        terminal.print(screen())
        return 0
    end_s = _end_s(args)
    with _whole_lines(terminal), Live(console=terminal, auto_refresh=False) as live:
        while True:
            live.update(screen(), refresh=True)
            if time.monotonic() >= end_s:
                return 0
            recording.keep_up()
            time.sleep(REFRESH_S)


def _looks_once(args: argparse.Namespace, terminal: Console) -> bool:
    """Return whether one screen is enough: in a pipe or a file, no screen replaces the one before it."""
    return args.once or not (terminal.is_terminal or args.record or args.seconds)


@contextmanager
def _whole_lines(terminal: Console) -> Iterator[None]:
    """End the last line of a `Live`, which prints its last screen without a newline in a pipe or a file."""
    try:
        yield
    finally:
        if not terminal.is_terminal:
            terminal.print()


def _print_json(args: argparse.Namespace, watch: Watch, recording: _Recording, read_to: int) -> int:
    end_s = _end_s(args)
    while True:
        for observation in watch.since(read_to):
            read_to = observation.seq + 1
            print(to_line(observation))
        sys.stdout.flush()
        if args.once or time.monotonic() >= end_s:
            return 0
        recording.keep_up()
        time.sleep(REFRESH_S / 2)


def _end_s(args: argparse.Namespace) -> float:
    return float("inf") if args.seconds is None else time.monotonic() + args.seconds


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
