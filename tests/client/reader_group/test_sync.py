"""The synchronous reader groups have the methods of the core; importing it starts nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.client import Client
from pravega_lab.client.reader_group import (
    event_reader,
    group,
    reading,
    revisioned_stream,
    state_synchronizer,
    sync,
)
from pravega_lab.client.reader_group.calls import complete
from pravega_lab.client.shared_state import revisioned, synchronizer
from pravega_lab.client.shared_state import sync as state_sync
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut
from tests.client.reader_group.test_synchronizer import Numbers
from tests.client.test_sync import public, signature

PAIRS = [
    (sync.ReaderGroup, group.AsyncReaderGroup),
    (sync.PendingCheckpoint, group.AsyncPendingCheckpoint),
    (sync.Reader, event_reader.AsyncReader),
    (state_sync.RevisionedStream, revisioned.AsyncRevisionedStream),
    (state_sync.StateSynchronizer, synchronizer.AsyncStateSynchronizer),
]
# What the core's parts offer to each other.
INTERNAL = {"AsyncReader": {"next_events", "put_back"}}


@pytest.mark.parametrize(("sync", "core"), PAIRS, ids=lambda kind: kind.__name__)
def test_same_names_and_signatures(sync: type, core: type) -> None:
    ours = public(sync)
    theirs = {n: v for n, v in public(core).items() if n not in INTERNAL.get(core.__name__, set())}
    assert sorted(ours) == sorted(theirs)
    for name, value in ours.items():
        assert signature(value) == signature(theirs[name]), name


@pytest.mark.parametrize("sync", [pair[0] for pair in PAIRS], ids=lambda kind: kind.__name__)
def test_every_call_says_what_it_does(sync: type) -> None:
    for name, value in public(sync).items():
        assert (value.fget if isinstance(value, property) else value).__doc__, name


def test_importing_starts_nothing_and_imports_nothing_heavy() -> None:
    program = (
        "import sys, threading, pravega_lab.client.reader_group\n"
        "heavy = {'grpc', 'numba', 'numpy', 'pyarrow', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert threading.active_count() == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[3])


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
