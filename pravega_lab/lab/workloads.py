"""`Workloads`: the writers, readers and ledgers that a lab runs, by name.

It also notes in every journal of the lab what was done here, so that views show the cause next to the effect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from pravega_lab.client import Client, Stream
from pravega_lab.client.reader_group import ReaderGroup
from pravega_lab.errors import BadInputError
from pravega_lab.lab.proxied_client import ProxiedClient
from pravega_lab.lab.running_clients import Running, RunningReader, RunningWriter
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.observations import Acted

if TYPE_CHECKING:
    from pravega_lab.observe.ledger.ledger import Ledger

NUMBERS_PER_WRITER = 1_000_000_000
T = TypeVar("T")


class Workloads:
    """The writers, readers and ledgers of one lab, by name.

    Args:
        client: Returns the client of the lab's store, which is opened on first use.
        observers: What the lab observes; the lab adds to it.
        access: How to get into the store; see `AccessOptions`.
    """

    def __init__(
        self, client: Callable[[], Client], observers: Mapping[Any, Any], access: Mapping[str, Any]
    ) -> None:
        self._client, self._observers, self._access = client, observers, access
        self.writers: dict[str, RunningWriter] = {}
        self.readers: dict[str, RunningReader] = {}
        self.ledgers: dict[tuple[int, str], Ledger] = {}
        self._writers_made = 0

    def writer(self, stream: Stream, name: str | None, **options: Any) -> RunningWriter:
        """Start a writer of numbered events. A dead writer of this name is replaced.

        Raises:
            BadInputError: A writer of this name runs.
        """
        if not isinstance(stream, Stream):
            raise BadInputError(f"lab.writer({stream!r:.80}): give a stream, lab.stream('scope/stream')")
        name = _free(name, "w", self.writers)
        self._writers_made += 1
        first = NUMBERS_PER_WRITER * (self._writers_made - 1)  # no two writers write the same number
        proxied = self._proxied([stream.scoped_name])
        made = _or_close(
            proxied, lambda: RunningWriter(stream, name, proxied, self.acted, first=first, **options)
        )
        self.writers[name] = made
        return made

    def reader(self, group: ReaderGroup, name: str | None, **options: Any) -> RunningReader:
        """Start a reader of a group. A dead reader of this name is replaced.

        Raises:
            BadInputError: A reader of this name runs.
            ReaderExistsError: The group has a reader of this name.
        """
        if not isinstance(group, ReaderGroup):
            raise BadInputError(
                f"lab.reader({group!r:.80}): give a reader group, lab.client.reader_group('scope/group')"
            )
        name = _free(name, "r", self.readers)
        proxied = self._proxied(group.config().starting_stream_cuts)
        made = _or_close(proxied, lambda: RunningReader(group, name, proxied, self.acted, **options))
        self.readers[name] = made
        self.acted(f"reader {name} started", call=f"lab.reader(group, {name!r})", target=group.scoped_name)
        return made

    def ledger(self, journal: Journal, name: str) -> Ledger:
        """Return the ledger of this name in a journal, creating it on first use."""
        from pravega_lab.observe.ledger.ledger import Ledger

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
        """Note in every journal what is about to be done here.

        Args:
            text: What is done, in words.
            call: The Python that does it.
            target: The stream or group that it is done to.
            is_fault: It is meant to hurt: ledgers then show a row for it.
            reader: The reader of the group ``target`` that ends by it.
            was_killed: That reader was killed before.
        """
        watches = list(self._observers.values())
        if reader:
            for observer in (g for watch in watches for g in getattr(watch, "groups", ())):
                if observer.group == target:
                    observer.done_here(reader, "killed" if was_killed else text, was_killed=was_killed)
        for ledger in self.ledgers.values():
            ledger.verdict()  # notes the counts before the fault
        journals = {
            id(j): j for j in [w.journal for w in watches] + [k.journal for k in self.ledgers.values()]
        }
        now_ms = time.time_ns() // 1_000_000
        for journal in journals.values():
            journal.append(Acted(time_ms=now_ms, text=text, call=call, target=target, is_fault=is_fault))

    def close(self) -> None:
        """End all writers and readers, also when one of them raises. Readers release their segments."""
        parts: list[Running] = [*self.writers.values(), *self.readers.values()]
        self.writers, self.readers, self.ledgers = {}, {}, {}
        with ExitStack() as closing:  # calls its callbacks in reverse order
            for part in reversed(parts):
                closing.callback(part.close)

    def _proxied(self, streams: Iterable[str]) -> ProxiedClient:
        return ProxiedClient(self._client(), list(streams), **self._access)


def _free(name: str | None, letter: str, taken: Mapping[str, Running]) -> str:
    """Return ``name``, or the next free one (``w1``, ``w2``, …).

    Raises:
        BadInputError: A part of this name runs.
    """
    if name is None:
        return next(n for k in range(1, 10_000) if (n := f"{letter}{k}") not in taken)
    old = taken.get(name)
    if old is not None and old.alive:
        raise BadInputError(f"{name!r} runs already; give another name, or close() it first")
    return name


def _or_close(proxied: ProxiedClient, make: Callable[[], T]) -> T:
    try:
        return make()
    except BaseException:
        proxied.close()
        raise
