"""What the screens of `pravega-lab watch` print of names and messages that try to command the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, RenderableType

from pravega_lab.cli import main
from pravega_lab.observe.group.observations import (
    GroupCheckpointAsked,
    GroupSeen,
    GroupSegmentAcquired,
    GroupUpdated,
    ReaderJoined,
)
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.terminal.inventory import GroupLine, Inventory, StreamLine
from pravega_lab.terminal.screen import GroupFolds, group_screen, inventory_screen
from pravega_lab.terminal.text import console, printable

HOSTILE = [
    "[/foo]",
    "[bold red]x[/]",
    "[link=https://example.org]x[/link]",
    ":smile:",
    "\x1b]8;;https://example.org\x07x\x1b]8;;\x07",
    "\x1b]0;title\x07\x1b[2J",
    "\x9b2J",
    "a\r\nb\x08c\x7f",
    "\u202eabc\u2066",
    "\u2028\ud800",
]


def drawn(screen: RenderableType, terminal: Console | None = None) -> str:
    """Return what a terminal with colours gets for the screen, without the colours."""
    terminal = terminal or console()
    terminal.file = io.StringIO()
    terminal.width = 200
    terminal.print(screen)
    return terminal.file.getvalue()


def check(out: str, name: str) -> None:
    assert printable(name) in out
    assert all(char == "\n" or char.isprintable() for char in out)


@pytest.mark.parametrize("name", HOSTILE)
def test_of_an_inventory(name: str) -> None:
    found = Inventory(
        (name,),
        (StreamLine(name, 1, "fixed"), StreamLine("s/b", trouble=name)),
        (GroupLine("s/g", readers=(name,)), GroupLine(name, trouble=name)),
    )
    out = drawn(inventory_screen(found, 0))
    check(out, name)
    assert out.count(printable(name)) == 6


@pytest.mark.parametrize("name", HOSTILE)
def test_of_a_group(name: str) -> None:
    journal = Journal(f"s/g at {name}")
    about = {"time_ms": 1, "group": name}
    journal.append(GroupSeen(time_ms=1, group=name, streams=(name,)))
    journal.append(ReaderJoined(time_ms=1, group=name, reader=name))
    journal.append(
        GroupSegmentAcquired(time_ms=1, group=name, stream=name, segment_id=0, reader=name, offset=0)
    )
    journal.append(GroupCheckpointAsked(time_ms=1, group=name, checkpoint=name, readers=(name,)))
    journal.append(GroupUpdated(**about, update="AddReader", explained=name))  # type: ignore[arg-type]
    journal.miss("it", name)
    folds = GroupFolds(journal)
    folds.catch_up()
    check(drawn(group_screen(name, folds)), name)


@pytest.mark.parametrize("name", HOSTILE)
def test_also_on_a_console_that_reads_markup(name: str) -> None:
    found = Inventory((), (StreamLine(name, 1, "fixed"),), ())
    check(drawn(inventory_screen(found, 0), Console()), name)


def test_a_group_without_readers_is_marked() -> None:
    groups = (GroupLine("s/read", readers=("r1",)), GroupLine("s/left"), GroupLine("s/lost", trouble="gone"))
    terminal = Console(color_system="standard", force_terminal=True, highlight=False)
    lines = drawn(inventory_screen(Inventory((), (), groups), 0), terminal).splitlines()
    marked = {line.split()[0]: "\x1b[1;31mno reader is online" in line for line in lines if "s/" in line}
    assert marked == {"s/read": False, "s/left": True, "s/lost": False}


def test_the_last_updates_are_not_those_of_clocks() -> None:
    journal = Journal("s/g")
    journal.append(GroupSeen(time_ms=1, group="s/g", streams=("s/s",)))
    for n in range(20):
        about = {"time_ms": n, "group": "s/g", "revision": n}
        journal.append(GroupUpdated(**about, update="UpdateDistanceToTail", explained=f"clock {n}"))  # type: ignore[arg-type]
        if n < 3:
            journal.append(GroupUpdated(**about, update="AddReader", explained=f"r{n} came online"))  # type: ignore[arg-type]
    folds = GroupFolds(journal)
    folds.catch_up()
    out = drawn(group_screen("s/g", folds))
    assert all(f"r{n} came online" in out for n in range(3))
    assert "clock" not in out


def test_ordinary_text_stays_as_it_is() -> None:
    assert printable("zürich → 北京 – #0 e0 👋") == "zürich → 北京 – #0 e0 👋"
    assert printable("two\nlines", keep="\n") == "two\nlines"


@pytest.mark.slow
def test_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "tcp://\x1b7:1", "--once"]) == 1
    err = capsys.readouterr().err
    assert "\\x1b7" in err
    assert "\x1b" not in err
