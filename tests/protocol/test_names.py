"""Names and ids as upstream writes them (pravega.md A1, A2)."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pravega_lab.errors import BadInputError
from pravega_lab.protocol import names
from pravega_lab.protocol.names import SegmentName, SegmentRange

i31 = st.integers(0, 2**31 - 1)
TXN = UUID("00000001-0000-0000-0000-000000000007")


@given(i31, i31)
def test_an_id_is_its_epoch_and_number(epoch: int, number: int) -> None:
    segment = names.segment_id(epoch, number)
    assert (names.epoch_of(segment), names.number_of(segment)) == (epoch, number)
    name = names.segment_name("s", "a", segment)
    assert name == f"s/a/{number}.#epoch.{epoch}"
    assert names.parse_segment_name(name) == SegmentName("s", "a", segment)


@pytest.mark.parametrize(("epoch", "number"), [(-1, 0), (0, -1), (2**31, 0), (0, 2**31)])
def test_ids_that_cannot_be(epoch: int, number: int) -> None:
    with pytest.raises(BadInputError, match="must be 0 to"):
        names.segment_id(epoch, number)


def test_a_name_without_epoch_is_of_epoch_0() -> None:
    assert names.parse_segment_name("s/a/3") == SegmentName("s", "a", 3)


@pytest.mark.parametrize(
    "name",
    [
        *("", "s", "s/a", "s/a/", "/a/0.#epoch.0", "s/a/b/0.#epoch.0", "s/a/x.#epoch.0", "s/a/0.#epoch."),
        *("s/a/-1.#epoch.0", "s/a/01.#epoch.0", "s/a/0.#epoch.2147483648", "s/a/0.#epoch.0#index"),
        "s/a/0.#epoch.0#transaction." + "0" * 32,
    ],
)
def test_what_is_no_stream_segment(name: str) -> None:
    with pytest.raises(BadInputError, match="not the name of a segment"):
        names.parse_segment_name(name)


def test_derived_segments_know_their_parent() -> None:
    parent = "s/a/0.#epoch.0"
    transaction = names.transaction_segment_name(parent, TXN)
    assert transaction == parent + "#transaction.00000001000000000000000000000007"
    transient = names.transient_segment_name(parent, TXN, UUID(int=2))
    for name in (transaction, transient, f"{parent}#index"):
        assert names.parent_of(name) == parent
    assert names.transaction_id_of(transaction) == TXN


@pytest.mark.parametrize("name", ["s/a/0.#epoch.0", "s/a/0#transaction.12", "s/a/0#transient.12.13", ""])
def test_other_segments_have_no_parent(name: str) -> None:
    assert names.parent_of(name) is None
    assert names.transaction_id_of(name) is None


def test_the_table_of_a_reader_group_as_rust_names_it() -> None:
    assert names.table_segment_name("s", "group") == "s/group_kvtable/0.#epoch.0"


@pytest.mark.parametrize("scoped", ["", "a", "/a", "a/", "a/b/c"])
def test_what_is_no_scoped_name(scoped: str) -> None:
    with pytest.raises(BadInputError, match="write scope/stream"):
        names.split_scoped_name(scoped)


@pytest.mark.parametrize(
    ("name", "internal", "user"),
    [
        ("a", True, True),
        ("A-z.09", True, True),
        ("_RGgroup", True, False),
        ("__a", False, False),
        ("a_b", False, False),
        ("", False, False),
        ("a b", False, False),
        ("a\n", False, False),
        ("ä", False, False),
        ("a" * 250, True, True),
        ("a" * 251, True, False),
        ("a" * 256, False, False),
    ],
)
def test_validity(name: str, internal: bool, user: bool) -> None:
    assert names.is_valid_stream(name) == names.is_valid_scope(name) == internal
    assert names.is_valid_user_name(name) == user


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("a_b", "'_' is not allowed"), ("", "0 characters"), ("a" * 251, "251 characters")],
)
def test_a_bad_stream_name_is_told(name: str, complaint: str) -> None:
    with pytest.raises(BadInputError, match=complaint):
        names.check_stream(name)


def test_a_good_name_comes_back() -> None:
    assert names.check_stream("a") == "a"
    assert names.check_scope("a" * 255) == "a" * 255


def test_a_segment_owns_its_upper_bound_not_its_lower() -> None:
    first, second = SegmentRange(0, 0.0, 0.5), SegmentRange(1, 0.5, 1.0)
    for position, owner in [(0.0, first), (0.25, first), (0.5, first), (0.51, second), (1.0, second)]:
        assert [part for part in (first, second) if part.owns(position)] == [owner]
    assert not first.overlaps(second)
    assert first.overlaps(SegmentRange(2, 0.49, 0.6))
