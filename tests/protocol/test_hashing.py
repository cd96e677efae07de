"""The routing hash against upstream's vectors (pravega.md A3)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pravega_lab.protocol.hashing import initial_ranges, key_position, murmur3_x64_128


@pytest.mark.parametrize(
    ("key", "position"),
    [
        ("hello", 0.658716230571337),
        ("a", 0.9433912753816884),
        ("", 0.24117842791623523),
        ("key-1", 0.3829162539760538),
        ("a" * 40, 0.7322615696457557),
        ("日本語", 0.33619521178203393),
    ],
)
def test_key_position(key: str, position: float) -> None:
    assert key_position(key) == position


def test_murmur3_halves() -> None:
    """Of the algorithm's published check text, seed 0."""
    data = b"The quick brown fox jumps over the lazy dog"
    assert murmur3_x64_128(data, 0) == (0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347)


@pytest.mark.slow
@given(st.text())
def test_every_key_has_a_place(key: str) -> None:
    assert 0.0 <= key_position(key) < 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 49, 98, 103, 1000])
def test_initial_ranges_cover_the_key_space_once(n: int) -> None:
    ranges = initial_ranges(n)
    assert len(ranges) == n
    assert (ranges[0][0], ranges[-1][1]) == (0.0, 1.0)
    assert all(left[1] == right[0] for left, right in itertools.pairwise(ranges))
    assert all(low < high for low, high in ranges)
