"""What a lab runs itself: writers, readers, ledgers. Says in every journal of the lab what is done here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from pravega_lab.client import Stream
from pravega_lab.client.reader_group import ReaderGroup
from pravega_lab.errors import BadInputError
from pravega_lab.line import Line
from pravega_lab.observe.journal import Journal
from pravega_lab.observe.ledger_observations import Acted
from pravega_lab.running import Running, RunningReader, RunningWriter

if TYPE_CHECKING:
    from pravega_lab.lab import Lab
    from pravega_lab.observe.ledger import Ledger

NUMBERS_PER_WRITER = 1_000_000_000
T = TypeVar("T")


class Runs:
    """The running parts of one lab, by name."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.writers: dict[str, RunningWriter] = {}
        self.readers: dict[str, RunningReader] = {}
        self.ledgers: dict[tuple[int, str], Ledger] = {}
        self._writers_made = 0

    def writer(self, stream: Stream, name: str | None, **options: Any) -> RunningWriter:
        """Start a writer; the name has to be free."""
        name = _free(name, "w", self.writers)
        self._writers_made += 1
        first = NUMBERS_PER_WRITER * (self._writers_made - 1)  # numbers tell the events of all writers apart
        line = self._line([stream.scoped_name])
        made = _or_close(line, lambda: RunningWriter(stream, name, line, self.acted, first=first, **options))
        self.writers[name] = made
        return made

    def reader(self, group: ReaderGroup, name: str | None, **options: Any) -> RunningReader:
        """Start a reader; the name has to be free in the lab and in the group."""
        name = _free(name, "r", self.readers)
        line = self._line(group.config().starting_stream_cuts)
        made = _or_close(line, lambda: RunningReader(group, name, line, self.acted, **options))
        self.readers[name] = made
        self.acted(f"reader {name} started", call=f"lab.reader(group, {name!r})", target=group.scoped_name)
        return made

    def ledger(self, journal: Journal, name: str) -> Ledger:
        """The ledger of this name in a journal; made when it is first asked for."""
        from pravega_lab.observe.ledger import Ledger

        key = (id(journal), name)
        if key not in self.ledgers:
            self.ledgers[key] = Ledger(journal, name=name)
        return self.ledgers[key]

    def acted(
        self,
        text: str,
        *,
        call: str = "",
        target: str = "",
        is_fault: bool = False,
        reader: str = "",
        was_killed: bool = False,
    ) -> None:
        """Something is about to be done here: into every journal, so that what follows has its cause."""
        watches = list(self._lab._observers.values())
        if reader:
            for observer in (g for watch in watches for g in getattr(watch, "groups", ())):
                if observer.group == target:
                    observer.done_here(reader, "killed" if was_killed else text, was_killed=was_killed)
        for ledger in self.ledgers.values():
            ledger.verdict()  # the counts before it
        journals = {
            id(j): j for j in [w.journal for w in watches] + [k.journal for k in self.ledgers.values()]
        }
        now_ms = time.time_ns() // 1_000_000
        for journal in journals.values():
            journal.append(Acted(time_ms=now_ms, text=text, call=call, target=target, is_fault=is_fault))

    def close(self) -> None:
        """End them all: readers give their segments back."""
        parts: list[Running] = [*self.writers.values(), *self.readers.values()]
        for part in parts:
            part.close()
        self.writers, self.readers, self.ledgers = {}, {}, {}

    def _line(self, streams: Iterable[str]) -> Line:
        return Line(self._lab.client, list(streams), **self._lab._access)


def _free(name: str | None, letter: str, taken: dict[str, Any]) -> str:
    if name is None:
        return next(n for k in range(1, 10_000) if (n := f"{letter}{k}") not in taken)
    old = taken.get(name)
    if old is not None and old.alive:
        raise BadInputError(f"{name!r} runs already; give another name, or close() it first")
    return name


def _or_close(line: Line, make: Callable[[], T]) -> T:
    try:
        return make()
    except BaseException:
        line.close()
        raise
