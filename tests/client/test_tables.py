"""Table segments: versions decide, also when an answer is lost on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from pravega_lab.client import NOT_EXISTS, AsyncClient, Client, Table
from pravega_lab.client.connection.connection import ConnectionLostError
from pravega_lab.client.segment_stores import SegmentStores
from pravega_lab.client.tables.table import VALUE_BYTES_MAX
from pravega_lab.client.values import TableValue
from pravega_lab.errors import BadInputError, ConditionFailedError, ConditionUnknownError, NotFoundError
from tests.client.helpers import CuttingProxy


@pytest.fixture
def table(client: Client, scope_name: Callable[[], str]) -> Table:
    scope = scope_name()
    client.create_scope(scope)
    found = client.table(f"{scope}/t")
    assert found.create() is True
    assert found.create() is False
    return found


def test_put_get_remove(table: Table) -> None:
    assert table.get(b"a") is None
    first = table.put(b"a", b"1")
    second = table.put(b"a", b"2")
    assert second > first
    found = table.get(b"a")
    assert found is not None
    assert (found.value, found.version) == (b"2", second)
    table.put(b"empty", b"")
    assert [v and v.value for v in table.get_many([b"none", b"empty", b"a"])] == [None, b"", b"2"]
    assert {key: value.value for key, value in table.items().items()} == {b"a": b"2", b"empty": b""}
    table.remove(b"a")
    table.remove(b"a")
    assert table.get(b"a") is None
    assert table.delete() is True
    assert table.delete() is False


def test_conditions(table: Table) -> None:
    version = table.put(b"k", b"1", NOT_EXISTS)
    with pytest.raises(ConditionFailedError, match=f"has version {version}"):
        table.put(b"k", b"2", NOT_EXISTS)
    with pytest.raises(ConditionFailedError):
        table.put(b"k", b"2", version + 1)
    with pytest.raises(ConditionFailedError, match="is absent"):
        table.put(b"none", b"2", version)
    newer = table.put(b"k", b"2", version)
    with pytest.raises(ConditionFailedError):
        table.remove(b"k", version)
    table.remove(b"k", newer)
    with pytest.raises(ConditionFailedError):
        table.remove(b"k", newer)


def test_many_keys_are_all_listed(table: Table) -> None:
    for i in range(700):
        table.put(b"%05d" % i, b"v%d" % i)
    assert {k: v.value for k, v in table.items().items()} == {b"%05d" % i: b"v%d" % i for i in range(700)}


def test_values_that_exceed_a_reply_are_read_in_parts(table: Table) -> None:
    keys = [b"%d" % number for number in range(17)]
    for key in keys:
        table.put(key, key + bytes(VALUE_BYTES_MAX - len(key)))
    found = table.get_many([*keys, b"none"])
    assert [value and value.value.rstrip(b"\0") for value in found] == [*keys, None]
    assert table.get_many([]) == []


def test_what_a_table_does_not_take(client: Client, table: Table) -> None:
    with pytest.raises(BadInputError, match="8193"):
        table.put(b"k" * 8193, b"")
    with pytest.raises(BadInputError):
        table.put(b"k", b"v" * (1024 * 1024))
    with pytest.raises(NotFoundError, match="create"):
        client.table(f"{table.scoped_name}-none").get(b"k")
    with pytest.raises(NotFoundError, match="create"):
        client.table(f"{table.scoped_name}-none").put(b"k", b"v")


@pytest.mark.parametrize("cut", [90, 120, 150, 200])
def test_a_conditional_put_happens_once_whatever_is_cut(uri: str, table: Table, cut: int) -> None:
    async def put() -> None:
        async with CuttingProxy([cut] * 3) as proxy, AsyncClient(uri, link=proxy.to(uri)) as client:
            found = await client.table(table.scoped_name).get(b"once")
            assert found is None
            try:
                version = await client.table(table.scoped_name).put(b"once", b"me", NOT_EXISTS)
            except ConditionUnknownError as error:  # the answer was cut: the value says whose it is
                version = cast(TableValue, error.found).version
            found = await client.table(table.scoped_name).get(b"once")
            assert found == TableValue(b"me", version)

    asyncio.run(put())
    with pytest.raises(ConditionFailedError):
        table.put(b"once", b"other", NOT_EXISTS)


def test_a_table_that_was_created_or_deleted_by_an_attempt_without_an_answer(
    uri: str, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with AsyncClient(uri) as client:
            other = client.table(f"{table.scoped_name}2")
            ask_once, is_lost = SegmentStores.ask_once, True

            async def losing(*request: Any) -> Any:
                nonlocal is_lost
                answer = await ask_once(*request)
                is_lost = not is_lost
                if not is_lost:
                    raise ConnectionLostError("the answer is lost")
                return answer

            monkeypatch.setattr(SegmentStores, "ask_once", losing)
            assert await other.create() is True
            is_lost = True
            assert await other.delete() is True
            monkeypatch.setattr(SegmentStores, "ask_once", ask_once)
            assert await other.delete() is False

    asyncio.run(story())
