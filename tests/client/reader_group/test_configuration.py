"""Configurations of reader groups, and the logs that a client makes without a request."""

from __future__ import annotations

from typing import Any

import pytest

from pravega_lab.client import Client
from pravega_lab.client.reader_group import (
    reading,
    revisioned_stream,
    state_synchronizer,
)
from pravega_lab.client.reader_group.calls import complete
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut
from tests.client.reader_group.test_synchronizer import Numbers


def test_a_configuration() -> None:
    cut = StreamCut("s/b", {0: 5})
    made = reading(["s/a", "s/b"], start=[cut], end=[cut], automatic_checkpoint_interval_ms=-1)
    assert made == ReaderGroupConfig(
        {"s/a": UNBOUNDED, "s/b": cut}, {"s/b": cut}, automatic_checkpoint_interval_ms=-1
    )
    assert reading(["s/a"]) == ReaderGroupConfig({"s/a": UNBOUNDED})


@pytest.mark.parametrize("config", [["scope/stream"], "scope/stream", None])
def test_what_is_no_configuration_is_refused_in_words(config: object) -> None:
    with pytest.raises(BadInputError, match=r"pass what reading\(\['scope/stream'\]\)"):
        complete(config)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("streams", "settings", "words"),
    [
        ("s/a", {}, r"streams='s/a'; give a list of names, such as reading\(\['scope/stream'\]\)"),
        ([5], {}, r"streams=\[5\]; give a list of names"),
        (["a"], {}, "write scope/stream"),
        (["s/a"], {"start": StreamCut("s/a", {0: 5})}, r"start=StreamCut.*; give a list of stream cuts"),
        (["s/a"], {"end": ["tail"]}, r"end=\['tail'\]; give a list of stream cuts"),
        (["s/a"], {"start": [StreamCut("s/b", {0: 5})]}, r"cuts of \['s/b'\], and the group reads \['s/a'\]"),
        (["s/a"], {"group_refresh_time_ms": 0}, "group_refresh_time_ms=0; give a whole number from 1"),
        (["s/a"], {"group_refresh_time_ms": "200"}, "group_refresh_time_ms='200'; give"),
        (["s/a"], {"automatic_checkpoint_interval_ms": -5}, "=-5; give a whole number from 1, or -1"),
        (["s/a"], {"max_outstanding_checkpoint_request": 0.5}, "=0.5; give a whole number from 1"),
    ],
)
def test_what_a_group_cannot_read_is_refused_in_words(streams: Any, settings: Any, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        reading(streams, **settings)


def test_a_group_reads_what_any_iterable_names() -> None:
    ends = {"s/a": StreamCut("s/a", {0: 5})}
    assert reading(iter(["s/a"]), end=ends.values()) == reading(["s/a"], end=[ends["s/a"]])


def test_a_name_that_no_group_can_have_is_refused_as_that_of_a_group(client: Client) -> None:
    with pytest.raises(BadInputError, match="reader group 'a_b': '_' is not allowed"):
        client.reader_group("g/a_b")


def test_a_state_that_two_handles_share(client: Client, new_stream: object) -> None:
    name = new_stream().scoped_name  # type: ignore[operator]
    first, second = (state_synchronizer(client, name, Numbers()) for _ in range(2))
    assert first.initialize([-1])
    first.fetch()
    second.fetch()
    assert first.update(lambda state: [[7]]) == [[7]]
    assert second.update(lambda state: [[len(state)]]) == [[1]]
    assert second.state == [7, 1]
    assert second.revision == revisioned_stream(client, name).latest()
