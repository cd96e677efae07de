"""Key-value tables of the client, on the embedded store and on a real Pravega."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from pravega_lab.client import (
    NOT_EXISTS,
    AsyncClient,
    Client,
    KeyValueTable,
    KeyValueTableConfiguration,
    KeyVersion,
    Put,
    Remove,
)
from pravega_lab.errors import (
    AlreadyExistsError,
    BadInputError,
    ConditionFailedError,
    NotEmptyError,
    NotFoundError,
    ScopeNotFoundError,
)
from pravega_lab.protocol.hashing import table_key_position
from tests.client.helpers import CuttingProxy


@pytest.fixture
def table(client: Client, scope_name: Callable[[], str]) -> KeyValueTable:
    return client.create_key_value_table(f"{scope_name()}/t", 4, 2, partitions=3)


def found(table: KeyValueTable, *args: bytes, **bounds: bytes) -> list[bytes]:
    return [entry.primary + b"/" + entry.secondary for entry in table.entries(*args, **bounds)]


def test_the_life_of_a_table(client: Client, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    table = client.create_key_value_table(f"{scope}/t", 8, partitions=2)
    assert table.configuration() == KeyValueTableConfiguration(8, 0, 2)
    with pytest.raises(AlreadyExistsError):
        client.create_key_value_table(f"{scope}/t", 8)
    client.create_key_value_table(f"{scope}/a", 8)
    assert client.list_key_value_tables(scope) == ["a", "t"]
    old = table.put(b"key-0001", b"one")
    client.create_stream(f"{scope}/s")  # a released server damages a scope without streams in the next call
    with pytest.raises(NotEmptyError, match="recursive"):
        client.delete_scope(scope)
    assert table.delete() is True
    assert table.delete() is False
    with pytest.raises(NotFoundError, match="create_key_value_table"):
        table.get(b"key-0001")
    again = client.create_key_value_table(f"{scope}/t", 8, partitions=2)
    assert again.get(b"key-0001") is None
    with pytest.raises(ConditionFailedError, match="is absent"):
        again.put(b"key-0001", b"two", version=old)
    assert client.delete_scope(scope, recursive=True) is True
    with pytest.raises(ScopeNotFoundError):
        client.list_key_value_tables(scope)


def test_conditions(table: KeyValueTable) -> None:
    first = table.put(b"pk-1", b"a", b"01", NOT_EXISTS)
    with pytest.raises(ConditionFailedError, match=f"has version {first.to_text()}"):
        table.put(b"pk-1", b"b", b"01", NOT_EXISTS)
    second = table.put(b"pk-1", b"b", b"01", first)
    assert KeyVersion.from_text(second.to_text()) == second
    for version in (first, NOT_EXISTS):
        with pytest.raises(ConditionFailedError):
            table.remove(b"pk-1", b"01", version)
    table.remove(b"pk-1", b"01", second)
    table.remove(b"pk-1", b"01")
    with pytest.raises(ConditionFailedError, match="is absent"):
        table.put(b"pk-1", b"c", b"01", second)
    assert table.get(b"pk-1", b"01") is None


def test_an_update_happens_as_a_whole_or_not_at_all(table: KeyValueTable) -> None:
    one, two = table.update(b"pk-1", [Put(b"01", b"a", NOT_EXISTS), Put(b"02", b"b", NOT_EXISTS)])
    with pytest.raises(ConditionFailedError, match="'02'"):
        table.update(b"pk-1", [Put(b"01", b"x", one), Put(b"02", b"x", NOT_EXISTS), Put(b"03", b"x")])
    assert [(e.secondary, e.value) for e in table.entries(b"pk-1")] == [(b"01", b"a"), (b"02", b"b")]
    assert table.update(b"pk-1", [Put(b"01", b"x", one), Put(b"02", b"x"), Put(b"02", b"y")])[2] > two
    assert [e and e.value for e in table.get_many([(b"pk-1", b"02"), (b"pk-2", b"01")])] == [b"y", None]
    assert table.update(b"pk-1", [Remove(b"01"), Remove(b"02")]) == []
    assert table.update(b"pk-1", []) == []
    assert found(table) == []


def test_entries_are_in_order(table: KeyValueTable) -> None:
    for pk in range(12):
        table.update(b"k-%02d" % pk, [Put(b"%02d" % sk, b"%d" % sk) for sk in reversed(range(60))])
    assert found(table) == [b"k-%02d/%02d" % (pk, sk) for pk in range(12) for sk in range(60)]
    assert found(table, b"k-03", start=b"04", end=b"06") == [b"k-03/04", b"k-03/05", b"k-03/06"]
    assert found(table, b"k-03", prefix=b"5") == [b"k-03/5%d" % n for n in range(10)]
    assert {key[:4] for key in found(table, start=b"k-02", end=b"k-04")} == {b"k-02", b"k-03", b"k-04"}
    assert len(found(table, prefix=b"k-1")) == 120
    assert found(table, b"none") == []
    frame = table.frame(b"k-03", end=b"01")
    assert list(frame["value"]) == [b"0", b"1"]
    assert frame.columns.tolist() == ["primary_key", "secondary_key", "value", "segment_id", "version"]


def test_more_entries_than_a_page(client: Client, table: KeyValueTable) -> None:
    wide = client.create_key_value_table(f"{table.scoped_name}-wide", 2, 2, partitions=2)
    for pk in (b"aa", b"bb", b"cc"):
        for begin in range(0, 1200, 240):
            wide.update(pk, [Put(n.to_bytes(2, "big"), b"v") for n in range(begin, begin + 240)])
    keys = [(e.primary, e.secondary) for e in wide.entries()]
    assert len(keys) == 3600
    assert keys == sorted(keys)
    shared = wide.entries()
    with ThreadPoolExecutor(4) as threads:
        parts = [threads.submit(lambda: list(chain(*iter(shared.next_page, [])))) for _ in range(4)]
    assert sorted((e.primary, e.secondary) for part in parts for e in part.result()) == keys


def test_bad_input(client: Client, table: KeyValueTable) -> None:
    for numbers in ((0, 0), (4, -1), (200, 57), (4.5, 0), ("4", 0)):
        with pytest.raises(BadInputError):
            client.create_key_value_table("any/t", *numbers)  # type: ignore[arg-type]
    for partitions in (0, 2**31, 1.5):
        with pytest.raises(BadInputError, match="partitions"):
            client.create_key_value_table("any/t", 4, partitions=partitions)  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="no pair"):
        table.get_many([b"aaaa"])  # type: ignore[list-item]
    with pytest.raises(BadInputError, match="'_'"):
        client.create_key_value_table("any/a_b", 4)
    calls: list[Callable[[], object]] = [
        lambda: table.put(b"short"[:2], b"v", b"01"),
        lambda: table.put(b"pk-1", b"v"),
        lambda: table.put("pk-1", b"v", b"01"),  # type: ignore[arg-type]
        lambda: table.put(b"pk-1", "v", b"01"),  # type: ignore[arg-type]
        lambda: table.put(b"pk-1", b"v" * 1_040_385, b"01"),
        lambda: table.put(b"pk-1", b"v", b"01", 7),
        lambda: table.update(b"pk-1", [Put(b"01", b"v"), Remove(b"02")]),  # type: ignore[list-item]
        lambda: table.update(b"pk-1", [Put(b"01", b"v")] * 257),
        lambda: list(table.entries(b"pk-1", start=b"1")),
        lambda: list(table.entries(prefix=b"pk", start=b"pk-1")),
        lambda: list(table.entries(start=b"pk-2", end=b"pk-1")),
        lambda: list(table.entries(b"pk-1", start=b"02", end=b"01")),
        lambda: KeyVersion.from_text("0"),
    ]
    for call in calls:
        with pytest.raises(BadInputError):
            call()
    assert found(table) == []


def test_a_primary_key_has_the_place_that_java_gives_it() -> None:
    # The released Java client puts this key of a table with 4 partitions into segment 2.
    assert 0.5 < table_key_position(b"pk-1") <= 0.75


@pytest.mark.parametrize("cut", [90, 150, 200])
def test_a_conditional_update_happens_once_whatever_is_cut(uri: str, table: KeyValueTable, cut: int) -> None:
    async def update() -> None:
        async with CuttingProxy([cut] * 3) as proxy, AsyncClient(uri, link=proxy.to(uri)) as client:
            core = client.key_value_table(table.scoped_name)
            versions = await core.update(b"once", [Put(b"01", b"me", NOT_EXISTS), Put(b"02", b"me")])
            assert versions == [e.version async for e in core.entries(b"once")]
            await core.remove(b"once", b"01", versions[0])
            assert proxy.connections > 1

    asyncio.run(update())
    assert found(table) == [b"once/02"]
