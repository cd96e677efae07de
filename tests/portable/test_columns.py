"""The stand-ins for numpy and pyarrow give what numpy and pyarrow give."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pravega_lab.portable import ARRAYS_VARIABLE
from pravega_lab.portable.plain import arrays, batches

ROOT = Path(__file__).parents[2]
NO_TIME = -(2**63)

ARRAYS: list[Callable[[Any], Any]] = [
    lambda np: np.array([3, 1, 2]),
    lambda np: np.asarray([True, False], dtype=np.int8),
    lambda np: np.array([3, 1, 2])[np.array([2, 0])],
    lambda np: np.array([3, 1, 2])[[0, 0]],
    lambda np: np.array([3, NO_TIME, 2])[np.array([3, NO_TIME, 2]) != NO_TIME],
    lambda np: np.array([3, 1, 3]) == 3,
    lambda np: np.array([3, 1, 3]) == np.array([3, 3, 3]),
    lambda np: np.array([4, 5, 6, 7])[1:3],
    lambda np: np.flatnonzero(np.array([0, 5, 0, 1])),
    lambda np: np.flatnonzero(np.array([2, 1, 2]) == 2),
    lambda np: np.arange(4),
    lambda np: np.arange(1, 9, 3),
    lambda np: np.full(3, NO_TIME, np.int64),
    lambda np: np.concatenate([np.zeros(2, np.int8), np.ones(1, np.int8)]),
    lambda np: _changed(np.zeros(5, dtype=np.int64)),
    lambda np: np.array([0, 2], dtype=np.int64).astype(np.bool_),
]


def _changed(values: Any) -> Any:
    values[1:3] = 7
    values[[0, 4]] = 9
    values[3] = 5
    return values


@pytest.mark.parametrize("make", ARRAYS, ids=range(len(ARRAYS)))
def test_arrays(make: Callable[[Any], Any]) -> None:
    plain, real = make(arrays), make(np)
    assert plain.tolist() == real.tolist()
    assert [type(value) for value in plain.tolist()] == [type(value) for value in real.tolist()]
    assert len(plain) == len(real)
    assert (plain.max(), plain.min(), plain.any(), plain.all()) == (
        real.max(), real.min(), real.any(), real.all()
    )  # fmt: skip


ROWS = [{"word": "a", "n": 1}, {"word": "b", "n": None}, {"word": "c", "n": 3}]

BATCHES: list[Callable[[Any], Any]] = [
    lambda pa: pa.RecordBatch.from_pylist(ROWS),
    lambda pa: pa.RecordBatch.from_pylist([]),
    lambda pa: pa.RecordBatch.from_pylist(ROWS).slice(1),
    lambda pa: pa.RecordBatch.from_pylist(ROWS).slice(0, 2),
    lambda pa: pa.RecordBatch.from_pylist(ROWS).take(pa.array([2, 0])),
    lambda pa: pa.RecordBatch.from_arrays([pa.array([1, 2]), pa.array(["x", "y"])], names=["a", "b"]),
    lambda pa: pa.concat_batches(
        [pa.RecordBatch.from_pylist(ROWS[:1]), pa.RecordBatch.from_pylist(ROWS[:2])]
    ),
]


@pytest.mark.parametrize("make", BATCHES, ids=range(len(BATCHES)))
def test_batches(make: Callable[[Any], Any]) -> None:
    plain, real = make(batches), make(pa)
    assert plain.to_pylist() == real.to_pylist()
    assert plain.to_pydict() == real.to_pydict()
    assert (plain.num_rows, plain.schema.names) == (real.num_rows, real.schema.names)
    for name in plain.schema.names:
        assert plain.column(name).to_pylist() == real.column(name).to_pylist()
        if len(plain):
            assert plain.column(name)[-1].as_py() == real.column(name)[-1].as_py()


@pytest.mark.parametrize("module", [arrays, batches])
def test_errors_are_those_of_lists(module: ModuleType) -> None:
    with pytest.raises(IndexError):
        _ = module.array([1])[1]


def test_without_numpy_and_pyarrow_the_stand_ins_are_taken() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pravega_lab.portable.columns import np, pa, pc\n"
    )
    code += "print(np.__name__, pa.__name__, pc)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, ROOT], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [arrays.__name__, batches.__name__, "None"]


def test_a_process_can_do_without_the_arrays_that_are_installed() -> None:
    code = "import sys, pravega_lab.portable.columns; print('numpy' in sys.modules, 'pyarrow' in sys.modules)"
    environ = os.environ | {ARRAYS_VARIABLE: "off"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]
