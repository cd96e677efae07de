"""The public state synchronizer with JSON states, on the embedded store and on a real Pravega."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.client import AsyncClient, Client, JsonFormat, Revision, Stream, Whole
from pravega_lab.client.shared_state.errors import NoStateYetError
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.errors import BadInputError, ConditionFailedError, ProtocolError


def book(seats: dict[str, str], update: dict[str, str]) -> None:
    seats.update(update)


RULES = JsonFormat(book)


def test_two_programs_share_a_state(client: Client, new_stream: Callable[..., Stream]) -> None:
    name = new_stream().scoped_name
    ann, ben = (client.state_synchronizer(name, RULES) for _ in range(2))
    with pytest.raises(NoStateYetError):
        _ = ann.state
    assert ann.initialize(Whole({})) is True
    assert ben.initialize(Whole({"never": "written"})) is False
    tries: list[dict[str, str]] = []

    def choose(seats: dict[str, str]) -> list[dict[str, str]]:
        tries.append(dict(seats))
        return [{"12B": "Ben"}] if "12A" in seats else [{"12A": "Ben"}]

    ann.fetch()
    ben.fetch()
    ann.update(lambda seats: [{"12A": "Ann"}])
    assert ben.update(choose) == [{"12B": "Ben"}]
    assert tries == [{}, {"12A": "Ann"}]
    ann.append([{"1A": "Eve"}, {"1B": "Eve"}])
    ann.fetch()
    assert ann.state == {"12A": "Ann", "12B": "Ben", "1A": "Eve", "1B": "Eve"}
    assert ann.update(lambda seats: []) == []
    assert ann.compact() is True
    late = client.state_synchronizer(name, RULES)
    late.fetch()
    assert late.state == ann.state
    for opened in (ann, ben, late):
        opened.close()


def add(counts: dict[str, int], update: dict[str, int]) -> None:
    for name, number in update.items():
        counts[name] += number


def test_updates_that_the_state_cannot_apply_are_not_written(
    client: Client, new_stream: Callable[..., Stream]
) -> None:
    name = new_stream().scoped_name
    ann, ben = (client.state_synchronizer(name, JsonFormat(add)) for _ in range(2))
    ann.initialize(Whole({"a": 1}))
    ann.fetch()
    with pytest.raises(KeyError):
        ann.update(lambda counts: [{"a": 1}, {"b": 1}])
    assert ann.state == {"a": 1}
    assert ann.update(lambda counts: [{"a": 1}])
    ben.fetch()
    assert ann.state == ben.state == {"a": 2}
    for opened in (ann, ben):
        opened.close()


def collect(lists: dict[str, list[int]], update: list[Any]) -> None:
    name, numbers = update
    if name in lists:
        lists[name] += numbers
    else:
        lists[name] = numbers


def test_the_program_that_writes_updates_has_the_state_of_every_other_one(
    client: Client, new_stream: Callable[..., Stream]
) -> None:
    name = new_stream().scoped_name
    ann, ben = (client.state_synchronizer(name, JsonFormat(collect)) for _ in range(2))
    ann.initialize(Whole({}))
    ann.fetch()
    kept = [1]
    ann.update(lambda lists: [["a", kept], ["a", [2]]])
    kept.append(3)
    ann.update(lambda lists: (["b", [number]] for number in range(2)))  # type: ignore[arg-type,return-value]
    ann.update(lambda lists: [(1, (4, 5))])
    ben.fetch()
    assert ann.state == ben.state == {"a": [1, 2], "b": [0, 1], 1: [4, 5]}
    ann.compact()
    ben.fetch()
    assert ann.state == ben.state == {"a": [1, 2], "b": [0, 1], "1": [4, 5]}
    for opened in (ann, ben):
        opened.close()


def test_a_state_whose_mark_was_truncated_is_read_from_the_first_entry_that_is_left(
    client: Client, new_stream: Callable[..., Stream]
) -> None:
    stream = new_stream()
    ann, late = (client.state_synchronizer(stream.scoped_name, RULES) for _ in range(2))
    ann.initialize(Whole({"12A": "Ann"}))
    ann.fetch()
    ann.compact()
    stream.truncate(stream.tail())  # as retention does, which does not know of the mark
    late.fetch()
    with pytest.raises(NoStateYetError, match="truncated"):
        _ = late.state
    assert ann.compact()
    late.fetch()
    assert late.state == ann.state == {"12A": "Ann"}
    for opened in (ann, late):
        opened.close()


def test_an_entry_that_the_state_cannot_apply_is_applied_by_no_fetch(
    client: Client, new_stream: Callable[..., Stream]
) -> None:
    name = new_stream().scoped_name
    ann, ben = (client.state_synchronizer(name, JsonFormat(apply)) for apply in (add, book))
    ann.initialize(Whole({"a": 1}))
    ann.fetch()
    ben.append([{"a": 1, "b": 1}])
    for _ in range(2):
        with pytest.raises(ProtocolError, match=r"#epoch.0:\d+:0: .* KeyError: 'b'"):
            ann.fetch()
        assert not ann.has_state
    for opened in (ann, ben):
        opened.close()


def test_the_asynchronous_face(uri: str, new_stream: Callable[..., Stream]) -> None:
    name = new_stream().scoped_name

    async def share() -> None:
        async with AsyncClient(uri) as client:
            async with client.state_synchronizer(name, RULES) as shared:
                assert await shared.initialize(Whole({"a": "1"}))
                await shared.fetch()
                await shared.update(lambda state: [{"b": "2"}])
                assert shared.state == {"a": "1", "b": "2"}
            async with client.revisioned_stream(name) as log:
                assert len(await log.read_from(await log.oldest())) == 2

    asyncio.run(share())


def test_a_log(client: Client, new_stream: Callable[..., Stream]) -> None:
    with client.revisioned_stream(new_stream().scoped_name) as log:
        begin = log.latest()
        end = log.append_if_at(begin, b"one")
        assert end is not None
        assert log.append_if_at(begin, b"refused") is None
        assert [entry.data for entry in log.read_from(begin)] == [b"one"]
        assert (log.set_mark(end, None), log.mark(), log.set_mark(begin, None)) == (True, end, False)
        assert (log.set_mark(None, end), log.mark(), log.set_mark(begin, None)) == (True, None, True)


def test_a_log_takes_its_own_revisions_only(client: Client, new_stream: Callable[..., Stream]) -> None:
    streams = [new_stream(name) for name in ("one", "two")]
    one, two = (client.revisioned_stream(stream.scoped_name) for stream in streams)
    for log in (one, two):
        log.append(b"entry")
    foreign, end = one.latest(), two.latest()
    for refused, what in [
        (foreign, "another log"),
        (end._replace(offset=-5), "0 or more"),
        (end.to_text(), "no revision"),
    ]:
        calls: list[Callable[[], object]] = [
            lambda at=refused: two.append_if_at(at, b"never"),
            lambda at=refused: two.read_from(at),
            lambda at=refused: two.read_some(at),
            lambda at=refused: two.set_mark(at, None),
            lambda at=refused: two.set_mark(None, at),
            lambda at=refused: two.truncate(at),
        ]
        for call in calls:
            with pytest.raises(BadInputError, match=what):
                call()
    with pytest.raises(BadInputError, match="of type str"):
        two.append("text")  # type: ignore[arg-type]
    assert [entry.data for entry in two.read_from(two.oldest())] == [b"entry"]
    for log in (one, two):
        log.close()


def test_a_log_that_was_created_again_takes_no_revision_of_the_first(
    client: Client, new_stream: Callable[..., Stream]
) -> None:
    stream = new_stream()
    log = client.revisioned_stream(stream.scoped_name)
    log.append(b"entry")
    kept = log.latest().to_text()
    stream.seal()
    stream.delete()
    client.create_stream(stream.scoped_name)
    again = client.revisioned_stream(stream.scoped_name)
    again.append(b"entry")
    with pytest.raises(BadInputError, match="created again"):
        again.append_if_at(Revision.from_text(kept), b"never")
    for opened in (log, again):
        opened.close()


def test_an_update_of_what_an_older_copy_of_the_store_does_not_have_is_refused(tmp_path: Path) -> None:
    store = StoreProcess(tmp_path / "store")
    try:
        with Client(store.uri) as client:
            client.create_scope("s")
            client.create_stream("s/seats")
            with client.state_synchronizer("s/seats", RULES) as shared:
                shared.initialize(Whole({}))
                store.stop()
                shutil.copytree(tmp_path / "store", tmp_path / "copy")
                store.start()
                shared.fetch()
                shared.update(lambda seats: [{"12A": "Ann"}])
                store.stop()
                shutil.rmtree(tmp_path / "store")
                (tmp_path / "copy").rename(tmp_path / "store")
                store.start()
                with pytest.raises(ConditionFailedError, match="restored from an older copy"):
                    shared.update(lambda seats: [{"12B": "Ben"}])
            with client.state_synchronizer("s/seats", RULES) as again:
                again.fetch()
                again.update(lambda seats: [{"12B": "Ben"}])
                assert again.state == {"12B": "Ben"}
    finally:
        store.close()


@pytest.mark.parametrize("data", [b"", b"\0\0\0\x03{}", b"\0\0\0\x01no", b"\0\0\0\x02\0\0\0\x09{}"])
def test_entries_that_are_no_state_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        RULES.read(data)


def test_what_is_written_can_be_read_and_begins_as_in_java() -> None:
    assert RULES.read(RULES.write([{"a": "b"}, {}])) == [{"a": "b"}, {}]
    assert RULES.read(RULES.write_whole(Whole([1]))) == [Whole([1])]
    assert RULES.write([{}]) == bytes.fromhex("00000002 00000002") + b"{}"


@pytest.mark.parametrize("state", [{"no": b"json"}, "text", {1, 2}])
def test_a_state_that_is_no_json_is_refused(state: Any) -> None:
    with pytest.raises(BadInputError, match=re.compile("JSON|dict")):
        RULES.write_whole(Whole(state))
