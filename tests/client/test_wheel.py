"""The official Python client and ours on one stream, both ways, keys and transactions included."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pravega_lab.client import Stream
from tests.client.helpers import assert_each_once_in_order, events_of, numbered

pravega_client = pytest.importorskip("pravega_client")  # there is none for Python 3.12 and newer
from tests.conformance.wheel.calls import read_stream  # noqa: E402

NewStream = Callable[..., Stream]


@pytest.fixture
def manager(uri: str) -> pravega_client.StreamManager:
    return pravega_client.StreamManager(uri)


def test_the_wheel_writes_and_we_read(manager: pravega_client.StreamManager, new_stream: NewStream) -> None:
    stream = new_stream(segments=3)
    events, keys = numbered(200, 7)
    writer = manager.create_writer(stream.scope, stream.name, 100)
    for event, key in zip(events, keys, strict=True):
        writer.write_event_bytes(event, key)
    writer.flush()
    with stream.read() as batches:
        assert_each_once_in_order(events_of(batches), 200)


def test_we_write_and_the_wheel_reads(manager: pravega_client.StreamManager, new_stream: NewStream) -> None:
    stream = new_stream(segments=3)
    stream.write(*numbered(200, 7))
    with stream.begin_transaction() as txn:
        txn.write(*numbered(100, 7, begin=200))
    assert_each_once_in_order(read_stream(manager, stream.scope, stream.name, 300), 300)


def test_both_write_the_same_keys_to_the_same_segments(
    manager: pravega_client.StreamManager, new_stream: NewStream
) -> None:
    stream = new_stream(segments=4)
    keys = [f"key-{i}" for i in range(40)]
    writer = manager.create_writer(stream.scope, stream.name, 100)
    for key in keys:
        writer.write_event(key, key)
    writer.flush()
    stream.write(keys, keys)
    places: dict[str, list[int]] = {key: [] for key in keys}
    with stream.read() as batches:
        for batch in batches:
            segments = batch.column("segment_id").to_pylist()
            for event, segment in zip(batch.column("event").to_pylist(), segments, strict=True):
                places[event.decode()].append(segment)
    assert all(len(found) == 2 and found[0] == found[1] for found in places.values())
