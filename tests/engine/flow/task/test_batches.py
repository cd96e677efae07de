"""Whole batches at once give what the same records give one by one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.operators.functions import count, total
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.operators.operators import AggregateOperator
from pravega_lab.engine.flow.sink.json_lines import json_lines
from pravega_lab.engine.flow.state.handles import Blob
from pravega_lab.engine.flow.state.keys import key_group
from pravega_lab.engine.flow.state.state import KeyedState
from pravega_lab.engine.simulation.flow.scenario import run_flow
from tests.engine.flow.jobs import CHECKPOINTED, Virtual, collect

WORDS = [{"word": "abc"[n % 3], "n": n} for n in range(30)]


def test_an_arrow_table_is_a_source_as_rows_are() -> None:
    both: list[list[Any]] = []
    table = pa.concat_tables([pa.Table.from_pylist(WORDS[:10]), pa.Table.from_pylist(WORDS[10:])])
    for rows in (WORDS, table):
        virtual, env, got = Virtual(), StreamEnvironment(), []
        collect(env.from_rows(rows, splits=2, batch_rows=4).key_by("word").aggregate(count()), got)
        virtual.finish(env)
        both.append(got)
    assert len(both[0]) == 30
    assert both[0] == both[1]


def rolled(rows: list[dict[str, Any]], *, together: bool, initial: dict[Any, Any] | None = None) -> list[Any]:
    """The sums of ``n`` by ``k``, all records of a batch at once or one by one."""
    virtual, env, got = Virtual(), StreamEnvironment(), []
    table = pa.Table.from_pylist(rows)
    stream = env.from_rows(table, batch_rows=7).key_by("k").aggregate(total("n"), initial=initial)
    stream.node.make = in_batches_from(1 if together else 2**40, stream.node.make)
    collect(stream, got)
    virtual.finish(env)
    return got


def in_batches_from(n_records: int, make: Callable[[], Operator]) -> Callable[[], Operator]:
    def made() -> Operator:
        operator = make()
        assert isinstance(operator, AggregateOperator)
        operator.together_from = n_records
        return operator

    return made


keys = st.none() | st.sampled_from("abc")
numbers = st.integers(-5, 5) | st.sampled_from([2**61, -(2**61), 2**63 - 1])


@settings(max_examples=40)
@given(st.lists(st.fixed_dictionaries({"k": keys, "n": numbers}), min_size=1, max_size=40))
def test_a_rolling_sum_is_the_same_at_once_and_one_by_one(rows: list[dict[str, Any]]) -> None:
    one_by_one = rolled(rows, together=False, initial={"b": 3})
    assert rolled(rows, together=True, initial={"b": 3}) == one_by_one
    assert len(one_by_one) == len(rows)


@pytest.mark.parametrize(
    "values",
    [[1.5, 0.25, -0.0], [True, False, True], [0, 2**40, -7]],
    ids=["float", "bool", "int"],
)
def test_what_is_no_integer_is_summed_as_python_does(values: list[Any]) -> None:
    rows = [{"k": "a", "n": value} for value in values * 4]
    got = rolled(rows, together=True)
    assert got == rolled(rows, together=False)
    assert got[-1][0] == {"k": "a", "value": sum(values * 4)}


@pytest.mark.parametrize("key", [0.0, True, b"x", 7], ids=["float", "bool", "bytes", "int"])
def test_keys_of_every_type_are_the_same_keys_at_once(key: object) -> None:
    rows = [{"k": key, "n": n} for n in range(20)] + [{"k": None, "n": 1}]
    assert rolled(rows, together=True) == rolled(rows, together=False)


@pytest.mark.parametrize("n_rows", [3, 300])
def test_keys_may_be_in_a_dictionary_with_nulls(n_rows: int) -> None:
    keys = [("a", None, "b")[n % 3] for n in range(n_rows)]
    table = pa.table({"k": pa.array(keys).dictionary_encode(), "n": range(n_rows)})
    virtual, env, got = Virtual(), StreamEnvironment(), []
    collect(env.from_rows(table).key_by("k").aggregate(count()).set_parallelism(2), got)
    virtual.finish(env, JobConfig(None))
    assert {row["k"]: row["value"] for row, _ in got} == dict.fromkeys(["a", None, "b"], n_rows // 3)


def test_at_once_only_state_of_keys_that_are_there_is_touched() -> None:
    """Key groups that a batch does not bring stay unchanged, so the next checkpoint only refers to them."""
    state = KeyedState(128, range(128))
    for key in "ab":
        state.set_key(key)
        state.changing("aggregate")[key] = (1, 1)
    blobs = {group: Blob("x", 0, 1, 0) for group in state.snapshot(full=False).written}
    state.written(1, state.snapshot(full=False), blobs)
    state.confirm(1)
    table = state.integers("aggregate", pa.string())
    places = table.find(pa.array(["a"]), lambda _: (0, 0))
    assert places is not None
    table.update(places, np.array([1]), np.array([2]))
    snapshot = state.snapshot(full=False)
    assert list(snapshot.written) == [key_group("a", 128)]
    assert list(snapshot.reused) == [key_group("b", 128)]


def test_a_key_of_another_subtask_is_refused_at_once_too() -> None:
    group = key_group("a", 128)
    table = KeyedState(128, range(group)).integers("aggregate", pa.string())
    with pytest.raises(IllegalStateError, match=f"key 'a' is of key group {group}"):
        table.find(pa.array(["a"]), lambda _: (0, 0))


texts = st.text(max_size=6) | st.text(alphabet='ab"\\ \x7fé\n', max_size=6)
numbered = st.integers(-(2**63), 2**63 - 1)
lines = st.tuples(st.none() | texts, numbered, st.sampled_from(["x", "yz"]))


@settings(max_examples=100)
@given(st.lists(lines, min_size=1, max_size=6), st.integers(0, 5))
def test_lines_made_from_columns_are_those_of_json(values: list[Any], start: int) -> None:
    rows = [dict(zip(["wörd", 'a "b"', "plain"], line, strict=True)) for line in values]
    start = min(start, len(rows))
    batch = Batch.of_arrow(pa.RecordBatch.from_pylist(rows)).slice(start, len(rows))
    expected = "".join(json.dumps(row) + "\n" for row in rows[start:])
    assert json_lines(batch).decode() == expected


def test_lines_of_floats_flags_and_nothing_are_those_of_json() -> None:
    rows = [{"f": 0.1, "b": True, "n": None, "l": [1]}, {"f": 1e300, "b": False, "n": None, "l": []}]
    batch = Batch.of_arrow(pa.RecordBatch.from_pylist(rows))
    assert json_lines(batch).decode() == "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [5, 6])
def test_a_random_job_with_failures_is_the_same_to_the_last_observation(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AggregateOperator, "together_from", 1)
    together = run_flow(seed)
    monkeypatch.setattr(AggregateOperator, "together_from", 2**40)
    assert together.problems == []
    assert together.journal.to_bytes() == run_flow(seed).journal.to_bytes()


class Sizes(Operator):
    """Notes how large batches are."""

    def __init__(self, into: list[int]) -> None:
        self._into = into

    def process_batch(self, batch: Batch, input: int) -> None:
        self._into.append(batch.num_rows)


@pytest.mark.parametrize(
    ("capacity", "sizes"),
    [(2000, [1500, 1500, 1500]), (1200, [1200, 300] * 3)],
    ids=["it fits the empty channel", "it never does"],
)
def test_a_large_batch_goes_whole_if_the_channel_could_hold_it(capacity: int, sizes: list[int]) -> None:
    virtual, env, got = Virtual(), StreamEnvironment(chaining=False), []
    table = pa.table({"n": list(range(4500))})
    env.from_rows(table, batch_rows=1500).transform("sizes", lambda: Sizes(got))
    virtual.finish(env, replace(CHECKPOINTED, channel_capacity=capacity))
    assert sum(got) == 4500
    assert got == sizes
