"""``pravega-lab watch URI [scope[/group]]``: look at a cluster, or follow a reader group, in a terminal.

Nothing is written to the cluster: no reader is registered and no lease is taken. So it is safe to point it
at any running group, of Python, Java or Flink readers.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from pravega_lab.client import Client, connect
from pravega_lab.client.connection.access import access_from, add_access_arguments
from pravega_lab.errors import BadInputError
from pravega_lab.observe import Watch, observe
from pravega_lab.observe.journal.records import to_record
from pravega_lab.terminal.inventory import check_group, take_inventory
from pravega_lab.terminal.text import console, shown

REFRESH_S = 0.5
SAVE_EVERY_S = 10.0
LOOK_S = 10.0


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
    parser.add_argument("--json", action="store_true", help="of a group: a line of JSON per observation")
    parser.add_argument(
        "--record", metavar="FILE", type=Path, help="of a group: keep the journal, for views and Journal.load"
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="end by itself after so long")
    add_access_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Look until Ctrl-C, ``--once`` or ``--seconds``; return 0 if there was something to look at.

    Raises:
        BadInputError: There is no such scope or group, or the options do not fit together.
    """
    is_group = args.what is not None and "/" in args.what
    if not is_group and (args.json or args.record):
        raise BadInputError("--json and --record follow one reader group: name it, as in SCOPE/GROUP")
    if args.seconds is not None and args.seconds <= 0:
        raise BadInputError(f"--seconds {args.seconds:g}: more than 0")
    with connect(args.uri, **access_from(args)) as client:
        if not is_group:
            return _list(args, client)
        check_group(client, args.what)
    with observe(args.uri, group=args.what, **access_from(args)) as watch:
        watch.look(LOOK_S)
        try:
            return _print_json(args, watch) if args.json else _draw(args, watch)
        except KeyboardInterrupt:
            return 0
        except BrokenPipeError:  # the reader of our lines has closed its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        finally:
            _record(args, watch)


def _list(args: argparse.Namespace, client: Client) -> int:
    from rich.live import Live

    from pravega_lab.terminal.screen import inventory_screen

    terminal = console()
    with terminal.status("asking for streams and reader groups") as status:
        found = take_inventory(client, args.what, lambda name: status.update(shown(f"asking for {name}")))
    screen = inventory_screen(found, _now_ms())
    if args.once or not terminal.is_terminal:
        terminal.print(screen)
        return 0
    end_s = _end_s(args)
    try:
        with Live(screen, console=terminal, auto_refresh=False) as live:
            while time.monotonic() < end_s:
                time.sleep(min(2.0, max(0.0, end_s - time.monotonic())))
                live.update(inventory_screen(take_inventory(client, args.what), _now_ms()), refresh=True)
    except KeyboardInterrupt:
        pass
    return 0


def _draw(args: argparse.Namespace, watch: Watch) -> int:
    from rich.console import RenderableType
    from rich.live import Live

    from pravega_lab.terminal.screen import GroupFolds, group_screen

    terminal, folds = console(), GroupFolds(watch.journal)

    def screen() -> RenderableType:
        folds.catch_up()
        return group_screen(args.what, folds)

    if args.once:
        terminal.print(screen())
        return 0
    end_s, save_s = _end_s(args), time.monotonic() + SAVE_EVERY_S
    with Live(console=terminal, auto_refresh=False) as live:
        while True:
            live.update(screen(), refresh=True)
            if time.monotonic() >= end_s:
                return 0
            if args.record and time.monotonic() >= save_s:
                watch.save(args.record)
                save_s = time.monotonic() + SAVE_EVERY_S
            time.sleep(REFRESH_S)


def _print_json(args: argparse.Namespace, watch: Watch) -> int:
    read_to, end_s = 0, _end_s(args)
    while True:
        for observation in watch.since(read_to):
            read_to = observation.seq + 1
            print(json.dumps(to_record(observation), separators=(",", ":")))
        sys.stdout.flush()
        if args.once or time.monotonic() >= end_s:
            return 0
        time.sleep(REFRESH_S / 2)


def _record(args: argparse.Namespace, watch: Watch) -> None:
    if args.record:
        path = watch.save(args.record)
        print(
            f"{len(watch.journal):,} observations in {path}; in a notebook: "
            f"from pravega_lab.widgets import show; show(Journal.load({str(path)!r}))",
            file=sys.stderr,
        )


def _end_s(args: argparse.Namespace) -> float:
    return float("inf") if args.seconds is None else time.monotonic() + args.seconds


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
