"""`Journal`: an append-only sequence of typed observations, bounded in memory.

Everything that is shown, and every pandas frame that a user gets, is a fold of a journal. What memory has
no room for goes to a spill file, where `since` and `save` still find it. A journal without a spill file, or
with a full one, drops the oldest observations and says so.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from heapq import merge
from itertools import chain, islice
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal import file
from pravega_lab.observe.journal.gap import Gap
from pravega_lab.observe.journal.observations import Observation, Trouble, kinds, numbered
from pravega_lab.observe.journal.outline import outline
from pravega_lab.observe.journal.records import to_record
from pravega_lab.observe.journal.spill import Spill
from pravega_lab.observe.journal.troubles import take_trouble
from pravega_lab.portable.frames import require_frames

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.client.reader_group.explain import Explanation

CAPACITY = 200_000  # observations; at most some 100 MB of Python objects
_SEQ = attrgetter("seq")
_SHORT_NAMES = {"updates": "group_updated"}
_O = TypeVar("_O", bound=Observation)


class _Ring:
    """The newest ``capacity`` observations, by rising ``seq``."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.dropped = 0
        self._items: list[Observation] = []

    def add(self, item: Observation) -> list[Observation]:
        """Take an item, and return those that there is no room for: seldom any, then many, since a cut
        moves all.
        """
        self._items.append(item)
        if len(self._items) < self.capacity + self.capacity // 4 + 1:
            return []
        extra = len(self._items) - self.capacity
        cut = self._items[:extra]
        del self._items[:extra]
        return cut

    def since(self, seq: int) -> Sequence[Observation]:
        """Return the items with this ``seq`` or a later one."""
        return self._items[bisect_left(self._items, seq, key=_SEQ) :]

    def __len__(self) -> int:
        return len(self._items)


class Journal:
    """Observations in order. Any thread may append and read.

    Args:
        source: What is observed, for the header of the views: ``"demo/flights at tcp://…"``.
        capacity: How many observations of each sort (facts, measurements) are kept in memory. A quarter
            more may be there for a while.
        spill: Where the older ones go: into a temporary file, into this file, or, with False, nowhere. The
            file is created when it is needed, and no other journal may have it.
        seed: The seed of a simulated run, shown in the header.
        live: False for a recording: nothing will be appended.

    Raises:
        BadInputError: The file of ``spill`` exists.
    """

    explainer: ClassVar[Callable[[Journal], Explanation]]
    """What `explain` calls. `pravega_lab.observe` sets it: it is above the folds, and they are above this."""

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
        self.troubles: dict[str, Trouble] = {}  # what observers fail to do now, by source, the newest last
        self.missing: dict[str, str] = {}  # why something never got in here, by whom it concerns
        self._facts = _Ring(capacity)
        self._samples = _Ring(capacity)
        self.start_ms: int | None = None  # time of the earliest observation so far
        self.until_ms: int | None = None  # until when an observer looked, also if nothing happened
        self._next = 0
        self._lost_facts = 0
        self._lost_samples = 0
        self._spill_to = spill if isinstance(spill, bool) else _free(Path(spill))
        self._spill: Spill | None = None
        self._lock = threading.Lock()

    def append(self, observation: _O) -> _O:
        """Append the observation, and return it with its ``seq``."""
        with self._lock:
            taken = numbered(observation, self._next)
            self._next += 1
            self.start_ms = min(taken.time_ms, taken.time_ms if self.start_ms is None else self.start_ms)
            take_trouble(self.troubles, taken)
            ring = self._samples if taken.sample else self._facts
            cut = ring.add(taken)
            if cut:
                ring.dropped += len(cut) - self._spilled(cut)
        return taken

    def _spilled(self, cut: list[Observation]) -> int:
        """Write observations into the spill file, and return how many of them it had room for."""
        if self._spill_to is False:
            return 0
        try:
            if self._spill is None:
                path = self._spill_to if isinstance(self._spill_to, Path) else None
                header = {"journal": file.VERSION, "source": self.source, "seed": self.seed}
                self._spill = Spill(path, header)
            return self._spill.add(cut)
        except OSError as error:
            self.missing["the spill file"] = f"the spill file cannot be written: {error}"
            return 0

    def tick(self, now_ms: int) -> None:
        """Note that an observer looked until now, and that nothing more has happened."""
        self.until_ms = max(self.until_ms or now_ms, now_ms)

    def extend(self, observations: Iterable[Observation]) -> None:
        """Append the observations, in order."""
        for observation in observations:
            self.append(observation)

    def since(self, seq: int = 0, *, all_samples: bool = True) -> list[Observation]:
        """Return all that is kept with this ``seq`` or a later one, in order. The cost depends on what is
        new only.

        Without ``all_samples``, measurements that are in the spill file are left out. After hours they are
        most of a journal, and reading them takes long.
        """
        facts, samples = self._sorts(seq, all_samples=all_samples)
        return sorted(chain(facts, samples), key=_SEQ)

    def iterate(self, seq: int = 0, *, all_samples: bool = True) -> Iterator[Observation]:
        """Yield what `since` returns, as of now, without having all of it in memory at once."""
        return merge(*self._sorts(seq, all_samples=all_samples), key=_SEQ)

    def _sorts(self, seq: int, *, all_samples: bool) -> tuple[Iterator[Observation], Iterator[Observation]]:
        with self._lock:
            facts: Iterator[Observation] = iter(self._facts.since(seq))
            samples: Iterator[Observation] = iter(self._samples.since(seq))
            if self._spill is not None:
                facts = chain(self._spill.since(seq, samples=False), facts)
                if all_samples:
                    samples = chain(self._spill.since(seq, samples=True), samples)
        return facts, samples

    def outline(self, until_ms: float = inf) -> Iterator[Observation]:
        """Yield in order what a fold needs for the state at a moment: fewer observations than `iterate`.

        All of the last ten thousand measurements up to ``until_ms`` are there. Of the others, some that a
        newer one of the same thing replaces are left out.
        """
        with self._lock:
            facts: Iterator[Observation] = iter(self._facts.since(0))
            samples = outline(self._samples.since(0), until_ms)
            if self._spill is not None:
                facts = chain(self._spill.since(0, samples=False), facts)
                samples = chain(self._spill.outline(until_ms), samples)
        return merge(facts, samples, key=_SEQ)

    @property
    def has_spilled_samples(self) -> bool:
        """Return whether measurements are in the spill file."""
        return self._spill is not None and self._spill.has_samples

    @property
    def next_seq(self) -> int:
        """Return the ``seq`` of the next observation: pass it to ``since`` later."""
        return self._next

    @property
    def gap(self) -> Gap:
        """Return what is missing from the journal."""
        facts = self._facts.dropped + self._lost_facts
        return Gap(facts, self._samples.dropped + self._lost_samples, self.reason)

    @property
    def reason(self) -> str:
        """Return why something is missing that never got into the journal."""
        return "; ".join(reason for reason in list(self.missing.values()) if reason)

    @reason.setter
    def reason(self, text: str) -> None:
        self.missing[""] = text

    def miss(self, whom: str, reason: str) -> None:
        """Note that something of ``whom`` never got into the journal. The newest reason replaces the
        older ones.
        """
        self.missing[whom] = reason

    def adopt(self, gap: Gap) -> None:
        """Take over the gap of a recording."""
        self._lost_facts, self._lost_samples, self.reason = gap.facts, gap.samples, gap.reason

    def __len__(self) -> int:
        spilled = 0 if self._spill is None else self._spill.n_kept
        return len(self._facts) + len(self._samples) + spilled

    def __repr__(self) -> str:
        state = "live" if self.live else "recording"
        return f"Journal({self.source!r}, {state}, {len(self):,} observations)"

    def to_pandas(self, kind: str | None = None) -> pd.DataFrame:
        """Return one kind with a column per field, or, with ``None``, all kinds as seq, time_ms, kind,
        what.

        ``"updates"`` is short for ``"group_updated"``: every update of a group's state log, explained.
        Whole numbers that may be missing are pandas' nullable Int64; nulls stay null.

        Raises:
            BadInputError: There is no such kind; the message names the nearest.
        """
        require_frames()
        from pravega_lab.portable.frames import pd

        if kind is None:
            rows = [(o.seq, o.time_ms, o.kind, _what(o)) for o in self.iterate()]
            return pd.DataFrame(rows, columns=["seq", "time_ms", "kind", "what"])
        cls = _kind(_SHORT_NAMES.get(kind, kind))
        return _frame(cls, [o for o in self.iterate(all_samples=cls.sample) if type(o) is cls])

    def explain(self) -> Explanation:
        """Return sentences on the end of the journal: what lags and since when, what checkpoints wait
        for, what has no owner.
        """
        return type(self).explainer(self)

    def save(self, path: str | Path) -> Path:
        """Write a recording as JSON lines, packed if the name ends in ``.gz``, and return the path."""
        path, count = Path(path), len(self)  # more may be appended while the file is written
        file.write(
            path,
            islice(self.iterate(), count),
            count=count,
            source=self.source,
            seed=self.seed,
            until_ms=self.until_ms,
            gap=self.gap,
        )
        return path

    @staticmethod
    def load(path: str | Path, *, bytes_max: int = file.UNPACKED_BYTES_MAX) -> Journal:
        """Open a recording, or the intact part of a file that was cut short: `gap` says how much is missing.

        Args:
            path: A file of `save`, or the named spill file of a journal, packed or not.
            bytes_max: The most that is read, counted after unpacking. Observations stay in memory.

        Raises:
            BadInputError: The file is no recording, is too large, or has a value that no journal writes. The
                message names the line and the field.
            FileNotFoundError: There is no such file.
        """
        recording = file.read(Path(path), bytes_max=bytes_max)
        journal = Journal(recording.source, capacity=2**62, seed=recording.seed, live=False)
        journal.extend(recording.observations)
        journal.until_ms = recording.until_ms
        journal.adopt(recording.gap)
        return journal


def _free(path: Path) -> Path:
    """Return the path of a spill file that does not exist yet.

    Raises:
        BadInputError: It exists.
    """
    if path.exists():
        raise BadInputError(
            f"spill={str(path)!r}: the file exists, and may be the recording of a program that died. "
            "Journal.load opens it. Give another name, or remove it"
        )
    return path


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
    require_frames()
    from pravega_lab.portable.frames import pd

    names = ["seq", "time_ms", *(f.name for f in fields(cls) if f.name not in ("seq", "time_ms"))]
    types = {f.name: str(f.type) for f in fields(cls)}
    frame = pd.DataFrame([[getattr(o, name) for name in names] for o in items], columns=names)
    nullable = {"int": "int64", "int | None": "Int64", "float": "float64", "float | None": "Float64"}
    return frame.astype({name: nullable[types[name]] for name in names if types[name] in nullable})
