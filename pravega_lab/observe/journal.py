"""The journal: an append-only sequence of typed observations, bounded in memory.

Whatever is shown, and every pandas frame handed out, is a fold of a journal (`folds.py`). What memory has
no room for goes to a spill file, from where `since` and `save` still get it. A journal without one, or whose
file is full, drops the oldest and says so.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from heapq import merge
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pravega_lab.errors import BadInputError
from pravega_lab.observe.observations import Observation, kinds, numbered, to_record

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.client.reader_group.explain import Explanation
    from pravega_lab.observe.spill import Spill

VERSION = 1
CAPACITY = 200_000  # observations; some 100 MB of Python objects at the very most
_SEQ = attrgetter("seq")
_SHORT_NAMES = {"updates": "group_updated"}
_O = TypeVar("_O", bound=Observation)


@dataclass(frozen=True, slots=True)
class Gap:
    """What is no longer in the journal, or never was: shown in the header of every view."""

    facts: int = 0
    samples: int = 0
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.facts or self.samples or self.reason)

    def __str__(self) -> str:
        counts = [f"{n:,} {what}" for n, what in ((self.samples, "measurements"), (self.facts, "facts")) if n]
        dropped = f"{' and '.join(counts)} dropped (the oldest; the journal is full)" if counts else ""
        return "; ".join(part for part in (dropped, self.reason) if part)


class _Ring:
    """The newest ``capacity`` observations, by rising ``seq``."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.dropped = 0
        self._items: list[Observation] = []

    def add(self, item: Observation) -> list[Observation]:
        """Take one; gives those that there is no room for, seldom and then many: a cut moves everything."""
        self._items.append(item)
        if len(self._items) < self.capacity + self.capacity // 4 + 1:
            return []
        extra = len(self._items) - self.capacity
        cut = self._items[:extra]
        del self._items[:extra]
        return cut

    def since(self, seq: int) -> Sequence[Observation]:
        return self._items[bisect_left(self._items, seq, key=_SEQ) :]

    def __len__(self) -> int:
        return len(self._items)


class Journal:
    """Observations in order. Safe to append to and to read from any thread.

    Args:
        source: What is observed, for the header of the views: ``"demo/flights at tcp://…"``.
        capacity: Observations kept in memory of each sort (facts, measurements); a quarter more for a while.
        spill: Where the older ones go: a temporary file (made when it is needed), a file named here, or, with
            False, nowhere.
        seed: Seed of a simulated run, shown in the header.
        live: False for a recording: nothing will be added.
    """

    def __init__(
        self,
        source: str = "",
        *,
        capacity: int = CAPACITY,
        spill: bool | str | Path = True,
        seed: int | None = None,
        live: bool = True,
    ) -> None:
        self.source = source
        self.seed = seed
        self.live = live
        self.missing: dict[str, str] = {}  # what never was in here, and why, by whom it concerns
        self._facts = _Ring(capacity)
        self._samples = _Ring(capacity)
        self.start_ms: int | None = None  # time of the earliest observation so far
        self.until_ms: int | None = None  # how far was looked, also where nothing happened
        self._next = 0
        self._lost_facts = 0
        self._lost_samples = 0
        self._spill_to = spill
        self._spill: Spill | None = None
        self._lock = threading.Lock()

    def append(self, observation: _O) -> _O:
        """Take the observation; returns it with its ``seq``."""
        with self._lock:
            taken = numbered(observation, self._next)
            self._next += 1
            self.start_ms = min(taken.time_ms, taken.time_ms if self.start_ms is None else self.start_ms)
            ring = self._samples if taken.sample else self._facts
            cut = ring.add(taken)
            if cut:
                ring.dropped += len(cut) - self._spilled(cut)
        return taken

    def _spilled(self, cut: list[Observation]) -> int:
        """How many of these there is room for in the spill file."""
        if self._spill_to is False:
            return 0
        try:
            if self._spill is None:
                from pravega_lab.observe.spill import Spill

                path = None if self._spill_to is True else Path(self._spill_to)
                header = {"journal": VERSION, "source": self.source, "seed": self.seed}
                self._spill = Spill(path, header)
            return self._spill.add(cut)
        except OSError as error:
            self.missing["the spill file"] = f"the spill file cannot be written: {error}"
            return 0

    def tick(self, now_ms: int) -> None:
        """Nothing (more) happened until now: the observer looked."""
        self.until_ms = max(self.until_ms or now_ms, now_ms)

    def extend(self, observations: Iterable[Observation]) -> None:
        for observation in observations:
            self.append(observation)

    def since(self, seq: int = 0) -> list[Observation]:
        """All that is kept with this ``seq`` or a later one, in order; costs what is new only."""
        return list(self.iterate(seq))

    def iterate(self, seq: int = 0) -> Iterator[Observation]:
        """As `since`, what is kept now, without having all of it in memory at once."""
        with self._lock:
            facts: Iterator[Observation] = iter(self._facts.since(seq))
            samples: Iterator[Observation] = iter(self._samples.since(seq))
            if self._spill is not None:
                facts = chain(self._spill.since(seq, samples=False), facts)
                samples = chain(self._spill.since(seq, samples=True), samples)
        return merge(facts, samples, key=_SEQ)

    @property
    def next_seq(self) -> int:
        """The ``seq`` that the next observation will get: pass it to ``since`` later."""
        return self._next

    @property
    def gap(self) -> Gap:
        facts = self._facts.dropped + self._lost_facts
        return Gap(facts, self._samples.dropped + self._lost_samples, self.reason)

    @property
    def reason(self) -> str:
        """Why something is missing that never was in here."""
        return "; ".join(reason for reason in list(self.missing.values()) if reason)

    @reason.setter
    def reason(self, text: str) -> None:
        self.missing[""] = text

    def miss(self, whom: str, reason: str) -> None:
        """Something of ``whom`` never got in here; the newest reason stands for it."""
        self.missing[whom] = reason

    def adopt(self, gap: Gap) -> None:
        """Remember a gap that a recording brought along."""
        self._lost_facts, self._lost_samples, self.reason = gap.facts, gap.samples, gap.reason

    def __len__(self) -> int:
        spilled = 0 if self._spill is None else self._spill.n_kept
        return len(self._facts) + len(self._samples) + spilled

    def __repr__(self) -> str:
        state = "live" if self.live else "recording"
        return f"Journal({self.source!r}, {state}, {len(self):,} observations)"

    def to_pandas(self, kind: str | None = None) -> pd.DataFrame:
        """One kind, a column per field; with ``None`` all kinds as seq, time_ms, kind, what.

        ``"updates"`` stands for ``"group_updated"``: every update of a group's state log, explained.
        Integers that may be missing are pandas' nullable Int64; nulls stay null.

        Raises:
            BadInputError: There is no such kind; the message names the nearest.
        """
        import pandas as pd

        if kind is None:
            rows = [(o.seq, o.time_ms, o.kind, _what(o)) for o in self.iterate()]
            return pd.DataFrame(rows, columns=["seq", "time_ms", "kind", "what"])
        cls = _kind(_SHORT_NAMES.get(kind, kind))
        return _frame(cls, [o for o in self.iterate() if type(o) is cls])

    def explain(self) -> Explanation:
        """In sentences: what is behind and since when, whom checkpoints wait for, what has no owner."""
        from pravega_lab.observe.explain import explain

        return explain(self)

    def save(self, path: str | Path) -> Path:
        """Write a recording as JSON lines (packed when the name ends in ``.gz``); returns the path."""
        from pravega_lab.observe.journal_file import save

        return save(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> Journal:
        """Open a recording; of a file that was cut short, its intact part, which `gap` then says."""
        from pravega_lab.observe.journal_file import load

        return load(Path(path))


def _what(observation: Observation) -> str:
    values = to_record(observation)
    return " ".join(f"{k}={v}" for k, v in values.items() if k not in ("kind", "seq", "time_ms"))


def _kind(kind: str) -> type[Observation]:
    from difflib import get_close_matches

    known = kinds()
    if kind not in known:
        near = get_close_matches(kind, known, 1, 0.3)
        raise BadInputError(
            f"no kind of observation is called {kind!r}; the nearest is {near[0] if near else 'note'!r}. "
            f"All of them: {', '.join([*known, *_SHORT_NAMES])}."
        )
    return known[kind]


def _frame(cls: type[Observation], items: list[Observation]) -> pd.DataFrame:
    import pandas as pd

    names = ["seq", "time_ms", *(f.name for f in fields(cls) if f.name not in ("seq", "time_ms"))]
    types = {f.name: str(f.type) for f in fields(cls)}
    frame = pd.DataFrame([[getattr(o, name) for name in names] for o in items], columns=names)
    nullable = {"int": "int64", "int | None": "Int64", "float": "float64", "float | None": "Float64"}
    return frame.astype({name: nullable[types[name]] for name in names if types[name] in nullable})
