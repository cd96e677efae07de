"""Offsets: they are equal as text when nothing is new, and the end of the first batch contains its start."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pravega_lab.connector.spark.source.offsets import (
    bounds,
    check_streams,
    decode,
    encode,
    following,
    initial,
)
from pravega_lab.errors import BadInputError

CUTS = {"s/b": {4294967296: 5, 0: 10}, "s/a": {1: 7}}


def test_the_same_cuts_are_the_same_text() -> None:
    turned = {"s/a": {1: 7}, "s/b": {0: 10, 4294967296: 5}}
    assert json.dumps(encode(CUTS)) == json.dumps(encode(turned))
    assert decode(json.loads(json.dumps(encode(CUTS)))) == CUTS


def test_nothing_new_is_the_start_itself() -> None:
    for start in (encode(CUTS), initial(CUTS)):
        assert json.dumps(following(start, CUTS)) == json.dumps(start)


def test_the_first_batch_remembers_where_it_began() -> None:
    """A repeated first batch is given another initial offset by then: the tail has moved on."""
    end = following(initial(CUTS), {**CUTS, "s/a": {1: 9}})
    moved_on = initial({**CUTS, "s/a": {1: 8}})
    assert bounds(moved_on, end) == (CUTS, {**CUTS, "s/a": {1: 9}})


def test_a_repeated_first_batch_without_events_stays_without() -> None:
    end = following(initial(CUTS), CUTS)
    assert bounds(initial({"s/a": {2: 3}, "s/b": {4294967296: 6, 0: 10}}), end) == (CUTS, CUTS)


def test_later_batches_lie_between_their_offsets() -> None:
    first = following(initial(CUTS), {**CUTS, "s/a": {1: 9}})
    second = following(first, {**CUTS, "s/a": {1: 12}})
    assert bounds(first, second) == ({**CUTS, "s/a": {1: 9}}, {**CUTS, "s/a": {1: 12}})
    assert second == encode({**CUTS, "s/a": {1: 12}})


def test_another_streams_checkpoint_is_refused() -> None:
    check_streams(encode(CUTS), ("s/b", "s/a"))
    with pytest.raises(
        BadInputError, match=r"is of s/a, s/b, the query reads s/a, s/c.*new checkpointLocation"
    ):
        check_streams(encode(CUTS), ("s/a", "s/c"))


OTHERS = [{"a/b": 1}, {"a/b": {"x": 1}}, {"a/b": {"1": None}}]
OF_FILES, OF_KAFKA, OF_RATE = {"logOffset": 0}, {"topic": {"0": 23}}, 7


@pytest.mark.parametrize("offset", [*OTHERS, OF_FILES, OF_KAFKA, OF_RATE])
def test_another_sources_checkpoint_is_refused(offset: Any) -> None:
    with pytest.raises(BadInputError, match="not an offset of format"):
        decode(offset)
