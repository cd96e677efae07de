"""The two kinds of books, with numpy and without, say the same about any story."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe.ledger import id_index
from pravega_lab.observe.ledger.entries import ARRIVALS, START
from pravega_lab.observe.ledger.event_books import ArrayBooks
from pravega_lab.observe.ledger.plain_books import PlainBooks

COLUMNS = ("written", "acknowledged", *ARRIVALS)
VALUES = [*START, "acknowledged", "late"]
VALUES += [f"{name}_{a}" for name in ("times", "segment", "offset", "disorder", "told") for a in ARRIVALS]


def called(books: ArrayBooks | PlainBooks, name: str, *arguments: Any) -> Any:
    """The result, or the text of the error."""
    try:
        return getattr(books, name)(*arguments)
    except BadInputError as error:
        return str(error)


def everything(books: ArrayBooks | PlainBooks) -> Any:
    about = [
        (books.id_of(slot), books.key_of(slot), *(books.value(name, slot) for name in VALUES))
        for slot in range(len(books))
    ]
    counts = [books.count(column) for column in COLUMNS]
    return about, counts, books.late, [books.standing(arrival) for arrival in (*ARRIVALS, None)], books.has


IDS: dict[str, Callable[[int], Any]] = {
    "numbers": lambda n: n,
    "numbers far apart": lambda n: 5_000 * n - 20_000,  # a page each, and soon more than the table may have
    "texts": str,
    "bytes": lambda n: b"%d" % n,
}


def story(chance: Random) -> list[tuple[Any, ...]]:
    """Calls in a random order: events that are lost, doubled, late, strange, out of order, written twice."""
    calls: list[tuple[Any, ...]] = []
    fresh = 0
    for call in range(chance.randrange(2, 12)):
        some = [chance.randrange(12) for _ in range(chance.randrange(6))]
        match chance.randrange(7):
            case 0 | 1:
                new = list(range(fresh, fresh + chance.randrange(5)))
                fresh += len(new)
                if chance.random() < 0.1:
                    new += new[:1]
                keys = chance.choice([None, "a", [chance.choice(["a", "b", None]) for _ in new], ["a"]])
                calls.append(("write", new, keys, call))
            case 2:
                calls.append(("acknowledge", some))
            case 3:
                calls.append(("be_late", some[:1]))
            case 4:
                calls.append(("settle", chance.choice(ARRIVALS), chance.randrange(4)))
            case _:
                where = (
                    [[chance.randrange(3) for _ in some], [8 * chance.randrange(9) for _ in some]]
                    if chance.random() < 0.5
                    else []
                )
                calls.append(("arrive", chance.choice(ARRIVALS), some, call, *where))
    return calls


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("first", [0, 100])
def test_both_say_the_same(ids: str, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_index, "PAGES_FREE", 3)
    for seed in range(first, first + 100):
        arrays, plain = ArrayBooks(), PlainBooks()
        for name, *arguments in story(Random(seed)):
            if name != "settle":
                at = 1 if name == "arrive" else 0
                arguments[at] = list(map(IDS[ids], arguments[at]))
            assert called(plain, name, *arguments) == called(arrays, name, *arguments), (
                seed,
                name,
                arguments,
            )
            assert everything(plain) == everything(arrays), (seed, name, arguments)


@pytest.mark.parametrize("more", [[2**70], [-(2**63)], [7, 2**63], list(range(0, 10**9, 10**6))])
def test_any_whole_number_is_an_id(more: list[int]) -> None:
    arrays, plain = ArrayBooks(), PlainBooks()
    for books in (arrays, plain):
        books.write([5, 3], "k", 0)
        books.arrive("read", [more[0], 3, *more], 1)
        books.write(more, "k", 2)
    assert everything(arrays) == everything(plain)


def test_ids_keep_their_type() -> None:
    for books in (ArrayBooks(), PlainBooks()):
        books.write(["a"], None, 0)
        with pytest.raises(BadInputError, match="bring them to one type"):
            books.acknowledge([1])
    numbers = ArrayBooks()
    for call in (numbers.acknowledge, numbers.be_late):
        call(list(np.arange(3)))
    assert type(numbers.id_of(0)) is np.int64
