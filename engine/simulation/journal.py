"""The journal of a simulated run: what clients asked and were told, in order. Checkers fold it.

A line is JSON: ``[time_us, who, what, {...}]``. Equal runs give equal bytes, in whatever process they run;
so nothing here depends on addresses, hashes or the machine's clock.

======================  ==================================================================================
what                    about
======================  ==================================================================================
write                   key, events: handed to a writer, in this order (``who`` is one life of a writer)
acked                   events: durable, says the client
txn-begin               txn, id (uuid)
txn-write               txn, key, events
txn-commit              txn: commit is asked now
txn-committing          txn: the commit call came back (it is decided, and not yet visible everywhere)
txn-committed           txn: its state was seen to be COMMITTED
txn-aborted             txn: seen to be ABORTED, or abort came back
read                    segment, offset, event: shown to a reader (``who`` is one life of a reader)
reading                 positions: where this life of a reader begins (segment to offset; null: at the head)
read-all                the reader came to the end of the sealed stream
read-to-tail            the reader came to the tail of the moment when it began
table-get               op: asked; answered by table-got: op, value (null: no such key), version
table-put               op, value, expected version; answered by table-put-ok: op, version, or
                        table-put-refused: op. No answer: unknown
read-truncated          what the reader was about to read was truncated away
truncate                positions: asked for, by a reader that has read everything before them
start, crash, fault     of the store and the world around it
epoch                   epoch, segments ([id, low, high], ...): at the end, from a recovered store
successors              segment, successors ([id, low, high, [predecessors]], ...): likewise
stored                  segment, start, sealed, events ([offset, event], ...): likewise
table                   value, version: likewise
======================  ==================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. ``seq`` counts from 0 and orders everything."""

    seq: int
    time_us: int
    who: str
    what: str
    about: dict[str, Any]

    def to_line(self) -> str:
        return json.dumps([self.time_us, self.who, self.what, self.about], separators=(",", ":"))


def _timeless() -> int:
    return 0


class Journal:
    """Append-only. ``now_us`` gives the virtual time."""

    def __init__(self, now_us: Callable[[], int] = _timeless) -> None:
        self.entries: list[Entry] = []
        self._now_us = now_us

    def add(self, who: str, what: str, **about: Any) -> Entry:
        """Append one line. Values are what JSON knows; uuids go in as text."""
        entry = Entry(len(self.entries), self._now_us(), who, what, about)
        self.entries.append(entry)
        return entry

    def of(self, *whats: str) -> Iterator[Entry]:
        """The entries of these kinds, in order."""
        return (entry for entry in self.entries if entry.what in whats)

    def to_bytes(self) -> bytes:
        """All lines, for comparing two runs and for looking at one."""
        return "".join(entry.to_line() + "\n" for entry in self.entries).encode()
