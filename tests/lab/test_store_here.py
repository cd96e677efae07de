"""The store of a lab in a browser, in this process: the same bytes, without sockets."""

from __future__ import annotations

import pytest

from pravega_lab import ScalingPolicy, connect
from pravega_lab.errors import BadInputError, StoreUnavailableError
from pravega_lab.lab.store_here import StoreHere


def test_what_is_written_is_read_also_after_a_split() -> None:
    store = StoreHere()
    with connect(store.uri, retry_for_s=1) as client:
        stream = client.create_stream("here/events", scaling=ScalingPolicy.fixed(2))
        keys = [f"key {n % 50}" for n in range(1_000)]
        events = [f"{n:06} {'x' * 2_000}" for n in range(1_000)]  # more than what a connection takes at once
        stream.write(events[:600], keys[:600])
        stream.split(stream.segments()[0].segment_id)
        stream.write(events[600:], keys[600:])
        with stream.read() as batches:
            found = [event.decode() for batch in batches for event in batch["event"].to_pylist()]
        assert sorted(found) == events
        for key in set(keys):
            assert [e for e in found if keys[int(e[:6])] == key] == events[int(key[4:]) :: 50]
        assert store.alive
        store.close()
        assert not store.alive
        with pytest.raises(StoreUnavailableError):
            stream.write("one more")


def test_two_stores_have_nothing_in_common() -> None:
    first, second = StoreHere(), StoreHere()
    with connect(first.uri) as one, connect(second.uri) as other:
        one.create_scope("mine")
        assert "mine" in one.list_scopes()
        assert "mine" not in other.list_scopes()
    first.close()
    second.close()


def test_a_folder_and_a_registry_are_refused() -> None:
    with pytest.raises(BadInputError, match="at home or on Binder"):
        StoreHere("folder")
    with pytest.raises(BadInputError, match="no schema registry"):
        StoreHere(registry_port=0)
