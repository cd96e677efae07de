"""The two kinds of books, with numpy and without, say the same about any story."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from pravega_lab.errors import BadInputError
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


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_both_say_the_same(first: int) -> None:
    for seed in range(first, first + 50):
        arrays, plain = ArrayBooks(), PlainBooks()
        for name, *arguments in story(Random(seed)):
            assert called(plain, name, *arguments) == called(arrays, name, *arguments), (
                seed,
                name,
                arguments,
            )
            assert everything(plain) == everything(arrays), (seed, name, arguments)


def test_ids_keep_their_type() -> None:
    for books in (ArrayBooks(), PlainBooks()):
        books.write(["a"], None, 0)
        with pytest.raises(BadInputError, match="bring them to one type"):
            books.acknowledge([1])
