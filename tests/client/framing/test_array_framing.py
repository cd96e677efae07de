"""Both versions over arrays, with and without numba, against pure Python, over what hypothesis thinks of."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pravega_lab.client.framing import compiled, events, pure_python, uncompiled
from pravega_lab.client.framing.arrays import wait_until_compiled
from pravega_lab.client.framing.values import ArrayFraming, Run
from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.hashing import initial_ranges, key_position

KEYS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), min_size=1, max_size=40)
PAYLOADS = st.lists(st.binary(max_size=60), min_size=1, max_size=40)
VERSIONS = pytest.mark.parametrize("version", [compiled, uncompiled], ids=["compiled", "uncompiled"])


def buffers(array: Any) -> tuple[Any, Any]:
    return events._buffers(array)


def rows(runs: list[Run]) -> list[Any]:
    return [(run.route, bytes(run.frames), run.n_events, list(run.positions)) for run in runs]


def test_numba_is_used_where_it_is_installed() -> None:
    assert wait_until_compiled(60) is compiled


@VERSIONS
@given(KEYS)
def test_keys_lie_where_the_plain_hash_says(version: ArrayFraming, keys: list[str]) -> None:
    found = version.positions_of(*buffers(pa.array(keys, pa.string())))
    assert found.tolist() == [key_position(key) for key in keys]


@VERSIONS
def test_keys_of_every_length_and_planes_beyond_the_first(version: ArrayFraming) -> None:
    keys = ["é😀\0z日本"[i % 7 :] + "k" * i for i in range(70)]
    for kind in (pa.string(), pa.large_string()):
        found = version.positions_of(*buffers(pa.array(keys, kind)))
        assert found.tolist() == [key_position(key) for key in keys]


@VERSIONS
@given(st.lists(st.binary(max_size=9), min_size=1, max_size=20))
def test_text_that_is_not_utf8_is_hashed_somehow_and_reads_nothing_else(
    version: ArrayFraming, keys: list[bytes]
) -> None:
    found = version.positions_of(*buffers(pa.array(keys, pa.binary())))
    assert ((found >= 0) & (found < 1)).all()


@VERSIONS
@given(PAYLOADS, st.integers(1, 6), st.integers(1, 200), st.randoms(use_true_random=False))
def test_framing_and_routing_agree(
    version: ArrayFraming, payloads: list[bytes], n_routes: int, bytes_max: int, chance: Any
) -> None:
    highs = [high for _, high in initial_ranges(n_routes)]
    positions = [chance.random() for _ in payloads]
    expected = pure_python.runs_of([pure_python.frame(p) for p in payloads], positions, highs, bytes_max)
    framing = version.frame_slice(
        *buffers(pa.array(payloads)), np.array(positions), np.array(highs), bytes_max
    )
    half = len(payloads) // 2
    framing.fill(0, half)
    framing.fill(half, len(payloads))
    assert rows(framing.runs()) == rows(expected)


@pytest.mark.slow
@VERSIONS
@given(PAYLOADS, st.integers(1, 4), st.integers(1, 100), st.randoms(use_true_random=False))
def test_routing_framed_events_again_agrees(
    version: ArrayFraming, payloads: list[bytes], n_routes: int, bytes_max: int, chance: Any
) -> None:
    highs = [high for _, high in initial_ranges(n_routes)]
    positions = [chance.random() for _ in payloads]
    frames = b"".join(map(pure_python.frame, payloads))
    expected = pure_python.split(frames, positions, highs, bytes_max)
    found = version.split(memoryview(frames), np.array(positions), np.array(highs), bytes_max)
    assert rows(found) == rows(expected)


def test_a_key_on_a_bound_belongs_to_the_range_that_ends_there() -> None:
    highs = [0.25, 0.5, 1.0]
    positions = [0.0, 0.25, np.nextafter(0.25, 1), 0.5, 0.75, np.nextafter(1.0, 0)]
    routes = np.empty(len(positions), np.int64)
    ranges = np.array(highs)
    compiled._choose(np.array(positions), ranges, compiled._firsts(ranges), routes)
    assert routes.tolist() == [0, 0, 1, 1, 2, 2] == [pure_python.route_of(p, highs) for p in positions]


@VERSIONS
@given(PAYLOADS, st.binary(max_size=20), st.one_of(st.none(), st.binary(max_size=20)))
def test_decoding_agrees(
    version: ArrayFraming, payloads: list[bytes], rest: bytes, first: bytes | None
) -> None:
    block = b"".join(map(pure_python.frame, payloads)) + rest
    try:
        expected = pure_python.decode(block)
    except ProtocolError:
        with pytest.raises(ProtocolError):
            version.decode(block, first)
        return
    found = version.decode(block, first)
    array = pa.BinaryArray.from_buffers(
        pa.binary(), len(found.starts), [None, pa.py_buffer(found.offsets), pa.py_buffer(found.payload)]
    )
    in_front = [] if first is None else [first]
    assert array.to_pylist() == in_front + expected[0]
    assert found.starts.tolist()[len(in_front) :] == expected[1]
    assert found.end == expected[2]


@pytest.mark.parametrize(
    ("n_routes", "longest"), [(1, 65_536), (128, 65_536), (256, 131_072), (9_999, 524_288)]
)
def test_a_slice_grows_with_the_routes(n_routes: int, longest: int) -> None:
    """So that no route's part of it gets too small; up to eight times as long."""
    many = events.prepare(pa.array([b"x"] * 600_000), "key", Random(0))
    lengths = [len(part) for part in many.slices(n_routes)]
    assert sum(lengths) == 600_000
    assert set(lengths[:-1]) == {longest}


@VERSIONS
def test_the_longest_item_is_found(version: ArrayFraming) -> None:
    assert version.longest(np.array([5, 5, 8, 9])) == 3
    assert version.longest(np.array([5])) == 0
