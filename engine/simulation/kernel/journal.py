"""The journal of a simulated run: the requests and replies of clients, in order. Checkers fold it.

A line is JSON: ``[time_us, who, what, {...}]``. Equal runs give equal bytes in every process, so nothing here
depends on addresses, hashes or the machine's clock.

======================  ==================================================================================
what                    about
======================  ==================================================================================
write                   key, events: passed to a writer, in this order (``who`` is one life of a writer)
acked                   events: durable, as reported to the client
txn-begin               txn, id (uuid)
txn-write               txn, key, events
txn-commit              txn: the client calls commit now
txn-committing          txn: the call returned (the commit is decided, and not yet visible everywhere)
txn-committed           txn: its state was seen to be COMMITTED
txn-aborted             txn: its state was seen to be ABORTED, or the abort returned
read                    segment, offset, event: delivered to a reader (``who`` is one life of a reader)
reading                 positions: where this life of a reader begins (segment to offset; null: at the head)
read-all                the reader reached the end of the sealed stream
read-to-tail            the reader reached the tail of the time when it began
table-get               op: a request; the reply is table-got: op, value (null: no such key), version
table-put               op, value, expected version; the reply is table-put-ok: op, version, or
                        table-put-refused: op. Without a reply the outcome is unknown
read-truncated          the next data of the reader was truncated
truncate                positions: requested by a reader that has read everything before them
subscribing             group: to be created; the reply is subscribed: group
release                 group, positions: to be released; the reply is released: group, positions, or
                        release-refused: group
head                    positions: the head of the stream, as a client received it
retention               by_time, minimum, maximum, period_ms: the policy of the stream (ms or bytes)
survey                  segments (id to [start, length]) of the storage, and the events that are new in them
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
    """One line of the journal. ``seq`` counts from 0 and orders all lines."""

    seq: int
    time_us: int
    who: str
    what: str
    about: dict[str, Any]

    def to_line(self) -> str:
        """Return the line as JSON."""
        return json.dumps([self.time_us, self.who, self.what, self.about], separators=(",", ":"))


def _timeless() -> int:
    return 0


class Journal:
    """An append-only journal. ``now_us`` returns the virtual time."""

    def __init__(self, now_us: Callable[[], int] = _timeless) -> None:
        self.entries: list[Entry] = []
        self._now_us = now_us

    def add(self, who: str, what: str, **about: Any) -> Entry:
        """Append one line. Values are JSON values; uuids are passed as text."""
        entry = Entry(len(self.entries), self._now_us(), who, what, about)
        self.entries.append(entry)
        return entry

    def of(self, *whats: str) -> Iterator[Entry]:
        """Return the entries of these kinds, in order."""
        return (entry for entry in self.entries if entry.what in whats)

    def to_bytes(self) -> bytes:
        """Return all lines, to compare two runs or to save one."""
        return "".join(entry.to_line() + "\n" for entry in self.entries).encode()
