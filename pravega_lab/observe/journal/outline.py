"""`outline`: which observations say what was so at a moment, out of a journal of days.

Most observations of such a journal are measurements that a later one of the same thing replaces. `newest_of`
of a kind names the thing. An outline has all observations shortly before the moment. Of each run of the
others, it has the newest measurement of each thing before the moment, and the first one after it. It has all
observations that are no such measurements.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

from pravega_lab.observe.journal.observations import Observation, kinds

RUN = 1_000  # observations of which one measurement of each thing is kept
WHOLE = 10_000  # observations before the moment, of which all are kept

_TIME = attrgetter("time_ms")
_T = TypeVar("_T")
_Named = tuple[Hashable, int]  # what is measured, and the time
_VALUE = rb'(?:"(?:[^"\\]|\\.)*"|-?\d+)'  # of text or a whole number in JSON


def outline(items: Sequence[Observation], until_ms: float) -> Iterator[Observation]:
    """Yield an outline of observations in memory, in their order."""
    later = bisect_right(items, until_ms, key=_TIME)
    old = max(0, later - WHOLE)
    before = (_thinned(items[n : min(n + RUN, old)], _named, until_ms) for n in range(0, old, RUN))
    after = (_thinned(items[n : n + RUN], _named, until_ms) for n in range(later, len(items), RUN))
    return chain(chain.from_iterable(before), items[old:later], chain.from_iterable(after))


def outline_of_lines(lines: Sequence[bytes], until_ms: float) -> list[bytes]:
    """Return an outline of one run of records, as `json.dumps` writes them without spaces. The others need
    not be parsed.
    """
    return _thinned(lines, _named_line, until_ms)


def _thinned(items: Sequence[_T], named: Callable[[_T], _Named | None], until_ms: float) -> list[_T]:
    places: list[int] = []
    newest: dict[Hashable, int] = {}
    after: dict[Hashable, int] = {}
    for place, item in enumerate(items):
        name = named(item)
        if name is None:
            places.append(place)
        elif name[1] <= until_ms:
            newest[name[0]] = place
        else:
            after.setdefault(name[0], place)
    return [items[place] for place in sorted([*places, *newest.values(), *after.values()])]


def _named(o: Observation) -> _Named | None:
    kind: Any = type(o)  # hashable, though mypy doubts it
    return ((kind, _subject(kind)(o)), o.time_ms) if kind.newest_of else None


@cache
def _subject(kind: Any) -> Callable[[Observation], Any]:
    return attrgetter(*kind.newest_of)


def _named_line(line: bytes) -> _Named | None:
    found = _pattern().match(line)
    return None if found is None else ((found[1], found[3]), int(found[2]))


@cache
def _pattern() -> re.Pattern[bytes]:
    """Return what matches the beginning of the records that an outline may leave out. A record begins with
    its kind, ``time_ms`` and ``seq``.
    """
    of = {kind: cls.newest_of for kind, cls in kinds().items() if cls.newest_of}
    subjects = (rb",".join(b'"%s":%s' % (name.encode(), _VALUE) for name in names) for names in of.values())
    either = b"|".join(dict.fromkeys(subjects))
    names = b"|".join(kind.encode() for kind in of)
    return re.compile(rb'\{"kind":"(%s)","time_ms":(-?\d+),"seq":\d+,(%s),' % (names, either))
