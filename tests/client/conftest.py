"""Every test that takes ``uri`` runs twice: against the embedded store and against a real Pravega."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pravega_lab.client import Client, ScalingPolicy, Stream, connect

FREE_TO_SCALE = ScalingPolicy.by_event_rate(1_000_000_000, 2, 1)  # any number of segments, none by itself


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real_pravega)])
def uri(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue("store" if request.param == "embedded" else "real_pravega")
    return found


@pytest.fixture
def client(uri: str) -> Iterator[Client]:
    with connect(uri) as opened:
        yield opened


@pytest.fixture
def new_stream(client: Client, scope_name: Callable[[], str]) -> Callable[..., Stream]:
    """Makes streams of ``n`` segments that may be scaled to any number."""
    scope = scope_name()

    def make(name: str = "s", segments: int = 1) -> Stream:
        policy = ScalingPolicy.by_event_rate(1_000_000_000, 2, segments)
        stream = client.create_stream(f"{scope}/{name}", scaling=policy)
        if segments > 1:
            stream.update(scaling=FREE_TO_SCALE)
        return stream

    return make
