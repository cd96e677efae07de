"""`Ledger`: counts events on their way, and says what was lost, doubled or out of order.

Witnesses feed it: a writer, a reader, a table of ids, a batch read between two cuts. What has no witness
stays unknown, and nothing is called exact while anything is unknown. The journal gets counts and the first
few offending events, not every event.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import BadInputError, PravegaError
from pravega_lab.observe.group.rows import label_of
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.entries import ARRIVALS, Arrival, Offence
from pravega_lab.observe.ledger.fold import sentence
from pravega_lab.observe.ledger.numbered import Parse, numbered
from pravega_lab.observe.ledger.observations import COLUMNS, Acted, LedgerCounted, LedgerOffended
from pravega_lab.portable import HAVE_ARRAYS

if TYPE_CHECKING or HAVE_ARRAYS:
    from pravega_lab.observe.ledger.event_books import ArrayBooks as Books
else:
    from pravega_lab.observe.ledger.plain_books import PlainBooks as Books

if TYPE_CHECKING:
    from pravega_lab.client import Stream
    from pravega_lab.client.values import Bound

COUNT_EVERY_MS = 200
OFFENCES_MAX = 20  # reported of each fault
OUR_WRITER = "our writer's journal"
OUR_READERS = "our readers' journal"
A_TABLE = "a table of ids"
A_BATCH_READ = "a batch read between two cuts"


class NotExactError(PravegaError, AssertionError):
    """Raised when a run that should be exact is not, or no witness knows; ``verdict`` says why."""

    def __init__(self, verdict: Verdict) -> None:
        first = f". First: {verdict.first}" if verdict.first else ""
        super().__init__(f"not exact: {verdict.sentence}{first}")
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a run. Counts are of distinct events; ``None`` is *not known* (no witness).

    ``judged`` is the column that was judged: ``committed``, else ``read``. ``unknown`` are events whose
    fate is not known (yet). ``first`` is the first offending event, in words.
    """

    written: int | None
    lost: int | None
    doubled: int | None
    out_of_order: int | None
    strange: int | None
    unknown: int | None
    late: int
    judged: str
    sentence: str
    first: str = ""

    @property
    def is_exact(self) -> bool:
        """Return whether everything is known, and every event arrived once and in order."""
        return self.sentence == "exact"

    def assert_exact(self) -> None:
        """Raise `NotExactError` (also an ``AssertionError``) unless the run is exact."""
        if not self.is_exact:
            raise NotExactError(self)


class Ledger:
    """Counts events by their ids. Several threads may feed it.

    Args:
        journal: Where its counts go: a `Journal`, or anything with a ``.journal``. By default a journal of
            its own.
        name: Which ledger of the journal it is.
        now_ms: The clock, in ms. If it is given, only calls trigger counts.

    Ids distinguish events and have one type (int, str or bytes) in all calls. Keys are routing keys: events
    of one key have to arrive in the order in which they were written. A null key promises no order.
    """

    shows = ("ledgers",)

    def __init__(
        self, journal: Any = None, *, name: str = "ledger", now_ms: Callable[[], int] | None = None
    ) -> None:
        found = Journal(name) if journal is None else getattr(journal, "journal", journal)
        if not isinstance(found, Journal):
            raise BadInputError(f"a ledger writes into a Journal, or what has a .journal, not {journal!r}")
        self.journal, self.name = found, name
        self._now_ms = now_ms or _wall_clock_ms
        self._counts_later = now_ms is None
        self._lock = threading.RLock()
        self._books = Books()
        self._witnesses = dict.fromkeys(COLUMNS, "")
        self._calls = _Calls()
        self._told: Counter[tuple[str, str]] = Counter()  # by column and fault
        self._offences: list[tuple[str, Offence, str]] = []  # those that were told: column, offence, words
        self._counted_ms: int | None = None
        self._timer: threading.Timer | None = None
        self._count()

    # Witnesses.

    def written(self, ids: Any, keys: Any = None, *, where: str = "", witness: str = OUR_WRITER) -> None:
        """Note that these events are passed to a writer, in this order. Call it before the write.

        Args:
            ids: One per event, distinct in the ledger: a list, or an Arrow, numpy or pandas array.
            keys: Routing keys: one for all, or one per event. None promises no order.
            where: Named with an offending event: ``"writer w1"``.

        Raises:
            BadInputError: An id was written before, or has another type than the others.
        """
        with self._lock:
            self._books.write(ids, keys, self._call(where))
            self._witnessed("written", witness)

    def acknowledged(self, ids: Any, *, witness: str = OUR_WRITER) -> None:
        """Note that the store reported these events as durable: from now on they must not be lost."""
        with self._lock:
            self._books.acknowledge(ids)
            self._witnessed("acknowledged", witness)

    def expected(self, ids: Any, keys: Any = None, *, witness: str = A_TABLE) -> None:
        """Note from a table which events there are, in order: all of them are written and acknowledged."""
        with self._lock:
            self.written(ids, keys, witness=witness)
            self.acknowledged(ids, witness=witness)

    def read(
        self,
        ids: Any,
        *,
        where: str = "",
        segments: Any = None,
        offsets: Any = None,
        witness: str = OUR_READERS,
    ) -> None:
        """Note that these events were read, in this order. Call it before the reader continues.

        Args:
            where: The reader: ``"r1"``.
            segments, offsets: Where each event was read (columns of `Stream.read`), named with an offending
                event.
        """
        self._arrived("read", ids, where, segments, offsets, witness)

    def committed(
        self, ids: Any, *, where: str = "", segments: Any = None, offsets: Any = None, witness: str = A_TABLE
    ) -> None:
        """Note that these events are in the result, for good."""
        self._arrived("committed", ids, where, segments, offsets, witness)

    def late(self, ids: Any) -> None:
        """Note that these events were dropped as late, on purpose: they are not lost, and are counted
        apart.
        """
        with self._lock:
            self._books.be_late(ids)
            self._changed()

    def settled(self, column: Arrival = "read") -> None:
        """Note that all known events have had their chance to be in ``column``: the others are lost.

        Raises:
            BadInputError: ``column`` is neither ``read`` nor ``committed``.
        """
        if column not in ARRIVALS:
            raise BadInputError(f"settled({column!r}): it is one of {', '.join(ARRIVALS)}")
        with self._lock:
            missing = self._books.settle(column, OFFENCES_MAX)
            self._offended(column, missing, None, None, None)
            self._count()

    def count(
        self,
        stream: Stream,
        start: Bound | None = None,
        end: Bound | None = None,
        *,
        column: str = "read",
        parse: Parse = numbered,
        batch_bytes: int = 8 << 20,
    ) -> int:
        """Read a stream between two cuts as a witness of a column, settle the column, and return the
        number of events.

        Args:
            start, end: Stream cuts; by default all that the stream has now.
            column: ``read``, ``committed`` (a stream of results), or ``acknowledged`` (what is stored).
            parse: Converts an Arrow array of events to ids and keys: `numbered`, or ``json_ids("field")``.

        Raises:
            BadInputError: ``stream`` is no stream, or ``column`` none of these columns.
        """
        from pravega_lab.client.values import HEAD, TAIL

        if not hasattr(stream, "read"):
            raise BadInputError(
                f"count({stream!r:.80}): it reads a stream. Give what create_stream() or stream() returned, "
                "such as lab.stream('scope/stream')"
            )
        if column not in COLUMNS[1:]:
            raise BadInputError(f"count(column={column!r}): it is one of {', '.join(COLUMNS[1:])}")
        arrival: Arrival | None = (
            "read" if column == "read" else "committed" if column != "acknowledged" else None
        )
        known, events = len(self._books), 0
        with stream.read(start or HEAD, end or TAIL, batch_bytes=batch_bytes) as batches:
            for batch in batches:
                ids, _ = parse(batch.column("event"))
                places = {"segments": batch.column("segment_id"), "offsets": batch.column("offset")}
                if arrival is None:
                    self.acknowledged(ids, witness=A_BATCH_READ)
                else:
                    self._arrived(arrival, ids, stream.scoped_name, **places, witness=A_BATCH_READ)
                events += batch.num_rows
        if arrival is not None and (known or events):
            self.settled(arrival)
        return events

    def fault(self, text: str, call: str = "") -> None:
        """Note that something is about to be broken: the row that shows its effect begins here."""
        with self._lock:
            self._count()
            self.journal.append(
                Acted(time_ms=self._now_ms(), text=text, call=call, target=self.name, is_fault=True)
            )

    # The result.

    def verdict(self) -> Verdict:
        """Count, and return the verdict as of now."""
        with self._lock:
            counted = self._count()
            said = sentence(counted)
            return Verdict(
                written=counted.written,
                lost=counted.lost,
                doubled=counted.doubled,
                out_of_order=counted.out_of_order,
                strange=counted.strange,
                unknown=counted.unknown,
                late=counted.late,
                judged=counted.judged,
                sentence=said,
                first="" if said == "exact" else self._first(counted.judged),
            )

    def __repr__(self) -> str:
        return f"Ledger({self.name!r}: {self.verdict().sentence})"

    # Internals.

    def _arrived(
        self, arrival: Arrival, ids: Any, where: str, segments: Any, offsets: Any, witness: str
    ) -> None:
        with self._lock:
            call = self._call(where)
            found = self._books.arrive(arrival, ids, call, segments, offsets)
            self._offended(arrival, found, call, segments, offsets)
            self._witnessed(arrival, witness)

    def _call(self, where: str) -> int:
        return self._calls.add(self._now_ms(), where)

    def _witnessed(self, column: str, witness: str) -> None:
        told = self._witnesses[column]
        if witness not in told.split(" and "):
            self._witnesses[column] = f"{told} and {witness}" if told else witness
        self._changed()

    def _offended(
        self, column: str, found: list[Offence], call: int | None, segments: Any, offsets: Any
    ) -> None:
        for offence in found:
            if self._told[column, offence.what] < OFFENCES_MAX:
                self._told[column, offence.what] += 1
                observation = self.journal.append(self._offence(column, offence, call, segments, offsets))
                self._offences.append((column, offence, in_words(observation)))

    def _first(self, judged: str) -> str:
        """Return in words the first offence at the judged column that still is one, "" if there is none."""
        for column, offence, said in self._offences:
            if column == judged and self._still_is(column, offence):
                return said
        return ""

    def _still_is(self, column: str, offence: Offence) -> bool:
        """Return whether no later report has disproved an offence."""
        if offence.what == "lost":
            return self._books.value(f"times_{column}", offence.slot) == 0
        return offence.what != "strange" or self._books.value("place", offence.slot) < 0

    def _offence(
        self, column: str, offence: Offence, call: int | None, segments: Any, offsets: Any
    ) -> LedgerOffended:
        books, slot, index = self._books, offence.slot, offence.index
        written_call = books.value("written_call", slot)
        written = self._calls[written_call] if written_call >= 0 else None
        read = None if call is None else self._calls[call]
        place = "" if segments is None or call is None else _place(segments, offsets, index)
        first_ms, first_where = None, ""
        if offence.what == "doubled":
            first_ms, where = self._calls[books.value(f"call_{column}", slot)]
            segment, offset = (books.value(f"{name}_{column}", slot) for name in ("segment", "offset"))
            first_where = _joined(where, "" if segment < 0 else _at(segment, None if offset < 0 else offset))
        return LedgerOffended(
            time_ms=self._now_ms(),
            ledger=self.name,
            what=offence.what,
            column=column,
            event=_text(books.id_of(slot)),
            key=books.key_of(slot) or "",
            written_ms=written[0] if written else None,
            written_where=written[1] if written else "",
            read_ms=read[0] if read else None,
            read_where=_joined(read[1], place) if read else "",
            first_ms=first_ms,
            first_where=first_where,
        )

    def _changed(self) -> None:
        """Count now, or soon: the journal keeps the counts."""
        now_ms = self._now_ms()
        if self._counted_ms is None or now_ms - self._counted_ms >= COUNT_EVERY_MS:
            self._count()
        elif self._timer is None and self._counts_later:
            self._timer = threading.Timer(COUNT_EVERY_MS / 1000, self._count)
            self._timer.daemon = True
            self._timer.start()

    def _count(self) -> LedgerCounted:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            books = self._books
            judged = next((a for a in reversed(ARRIVALS) if books.has[a]), None)
            standing = books.standing(judged)
            now_ms = self._counted_ms = self._now_ms()
            counted = LedgerCounted(
                time_ms=now_ms,
                ledger=self.name,
                witnesses=tuple(self._witnesses[column] for column in COLUMNS),
                judged=judged or "",
                written=books.count("written"),
                acknowledged=books.count("acknowledged"),
                read=books.count("read"),
                committed=books.count("committed"),
                lost=standing.lost,
                doubled=standing.doubled,
                out_of_order=standing.out_of_order,
                strange=standing.strange,
                unknown=standing.unknown,
                in_flight=standing.in_flight,
                late=books.late,
            )
            return self.journal.append(counted)


class _Calls:
    """Knows when and where each call reported events, in twelve bytes a call: a ledger keeps all of them."""

    def __init__(self) -> None:
        self._times_ms = array("q")
        self._places = array("i")
        self._names: dict[str, int] = {}

    def add(self, time_ms: int, where: str) -> int:
        """Return the number of the call."""
        self._times_ms.append(time_ms)
        self._places.append(self._names.setdefault(where, len(self._names)))
        return len(self._places) - 1

    def __getitem__(self, call: int) -> tuple[int, str]:
        return self._times_ms[call], list(self._names)[self._places[call]]


def in_words(o: LedgerOffended) -> str:
    """Return an offence in words: ``event 17 of key N1 was doubled: …``"""
    key = f" of key {o.key}" if o.key else ""
    parts = [f"written by {o.written_where}" if o.written_where else ""]
    if o.first_where:
        parts.append(f"first read at {o.first_where}")
    if o.read_where:
        parts.append(f"read at {o.read_where}")
    said = ", ".join(part for part in parts if part)
    verb = {"strange": "was never written", "out of order": f"was {o.column} out of order"}
    return f"event {o.event}{key} {verb.get(o.what, f'was {o.what}')}{f': {said}' if said else ''}"


def _place(segments: Any, offsets: Any, index: int) -> str:
    return _at(_item(segments, index), None if offsets is None else _item(offsets, index))


def _at(segment_id: int, offset: int | None) -> str:
    where = label_of(segment_id)
    return where if offset is None else f"{where} offset {offset:,}"


def _item(values: Any, index: int) -> int:
    item = values[index]
    return int(item.as_py() if hasattr(item, "as_py") else item)


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _text(event_id: Any) -> str:
    return event_id.decode(errors="replace") if isinstance(event_id, bytes) else str(event_id)


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000
