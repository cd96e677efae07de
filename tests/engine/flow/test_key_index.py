"""Keys of whole batches are found as a dict finds them, and their sums are those of the loop over records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.state import key_index
from pravega_lab.engine.flow.state.key_index import LENGTH_MAX, KeyIndex
from pravega_lab.engine.flow.state.keys import INDEXED_FROM, KeyGroups, KeySelector, key_group
from pravega_lab.engine.flow.state.state import KeyedState

KINDS = [
    (pa.string(), st.text(max_size=20)),
    (pa.large_string(), st.text(max_size=9)),
    (pa.binary(), st.binary(max_size=20)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.int8(), st.integers(-128, 127)),
    (pa.bool_(), st.booleans()),
]


@settings(max_examples=60)
@given(st.data())
def test_keys_have_the_numbers_that_a_dict_would_give_them(data: st.DataObject) -> None:
    kind, values = data.draw(st.sampled_from(KINDS))
    index, known = KeyIndex(kind), dict[Any, int]()
    for batch in data.draw(st.lists(st.lists(values, unique=True, max_size=30), max_size=5)):
        keys = pa.array([*batch, *batch[:1]], kind).slice(0, len(batch))
        codes = index.find(keys)
        assert codes is not None
        assert codes.tolist() == [known.get(key, -1) for key in batch]
        added = index.add(keys.filter(pa.array(codes < 0)))
        assert added.tolist() == list(range(len(known), len(known) + len(added)))
        for key in batch:
            known.setdefault(key, len(known))
        assert len(index) == len(known)
    assert index.keys(np.arange(len(known))) == list(known)


def test_many_keys_are_found_again_and_new_ones_are_told_from_them() -> None:
    index, n_keys = KeyIndex(pa.string()), 20_000
    names = pa.array([f"key-{n}" for n in range(2 * n_keys)])
    for start in range(0, n_keys, 1000):
        index.add(names.slice(start, min(1000, n_keys - start)))
    found = index.find(names)
    assert found is not None
    assert found.tolist() == [*range(n_keys), *[-1] * n_keys]


def test_the_copies_of_keys_that_never_repeat_grow_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    copied, concat = [], pa.concat_arrays
    monkeypatch.setattr(pa, "concat_arrays", lambda some: copied.append(sum(map(len, some))) or concat(some))
    index, n_keys = KeyIndex(pa.int64()), 100_000
    for start in range(0, n_keys, 100):
        keys = pa.array(range(start, start + 100))
        assert index.find(keys).tolist() == [-1] * 100
        index.add(keys)
    assert sum(copied) < 20 * n_keys  # a copy of all of them for each batch is 500 times as many
    assert index.find(pa.array([0, n_keys, n_keys - 1])).tolist() == [0, -1, n_keys - 1]


def test_the_index_does_not_guess() -> None:
    index = KeyIndex(pa.string())
    assert index.find(pa.array(["a", None])) is None
    assert index.find(pa.array(["a" * (LENGTH_MAX + 1)])) is None


def test_two_keys_with_one_hash_are_not_taken_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_index, "_hashed", lambda keys: np.zeros(len(keys), dtype=np.uint64))
    index = KeyIndex(pa.string())
    index.add(pa.array(["a"]))
    assert index.find(pa.array(["a"])) == [0]
    assert index.find(pa.array(["b"])) is None


@pytest.mark.parametrize("n_keys", [3, 5 * INDEXED_FROM])
def test_records_of_a_batch_have_the_groups_of_their_keys(n_keys: int) -> None:
    groups = KeyGroups(KeySelector("word"), 128)
    for turn in range(3):
        words = [f"word {n % (n_keys + turn)}" for n in range(1000)]
        found = groups.of(Batch.of_arrow(pa.record_batch({"word": words})))
        assert found.tolist() == [key_group(word, 128) for word in words]


def test_a_dictionary_with_a_value_twice_is_no_list_of_keys() -> None:
    words = [f"word {n}" for n in range(2 * INDEXED_FROM)]
    column = pa.DictionaryArray.from_arrays(pa.array(range(4 * INDEXED_FROM)), pa.array(words + words))
    found = KeyGroups(KeySelector("word"), 128).of(Batch.of_arrow(pa.record_batch({"word": column})))
    assert found.tolist() == [key_group(word, 128) for word in words + words]


def add(state: KeyedState, keys: list[str]) -> None:
    """Count one row of each key, worth 5."""
    table = state.integers("sums", pa.string())
    places = table.find(pa.array(keys), lambda _: (0, 0))
    assert places is not None
    table.update(places, np.ones(len(keys), dtype=np.int64), table.sums(places) + 5)


def test_sums_are_in_the_snapshot_and_are_seen_and_changed_one_by_one() -> None:
    state = KeyedState(4, range(4))
    add(state, ["a", "b"])
    add(state, ["b", "c"])
    assert {k: v for _, table in state.tables("sums") for k, v in table.items()} == {
        "a": (1, 5),
        "b": (2, 10),
        "c": (1, 5),
    }
    add(state, ["a"])
    state.set_key("a")
    assert state.table("sums")["a"] == (2, 10)
    state.changing("sums")["a"] = (7, 70)
    add(state, ["a"])

    restored = KeyedState(4, range(4))
    for group, (_, data) in state.snapshot(full=True).written.items():
        restored.restore(group, data, None)
    add(restored, ["a", "c"])
    assert {k: v for _, table in restored.tables("sums") for k, v in table.items()} == {
        "a": (9, 80),
        "b": (2, 10),
        "c": (2, 10),
    }


def test_a_snapshot_does_not_end_the_table_in_use() -> None:
    state = KeyedState(4, range(4))
    table = state.integers("sums", pa.string())
    add(state, ["a"])
    before = state.snapshot(full=True)
    add(state, ["a"])
    assert state.integers("sums", pa.string()) is table
    assert state.snapshot(full=True).written != before.written


@pytest.mark.parametrize("entry", [(1, 0.5), (1, 2**62), (1, "text")])
def test_other_values_than_integers_are_left_to_the_loop(entry: tuple[int, object]) -> None:
    state = KeyedState(4, range(4))
    state.set_key("a")
    state.changing("sums")["a"] = entry
    assert state.integers("sums", pa.string()).find(pa.array(["a", "b"]), lambda _: (0, 0)) is None
    assert state.table("sums") == {"a": entry}
