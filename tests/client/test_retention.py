"""Retention as programs see it: policies, subscribers, and readers whose events are truncated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from pravega_lab.client import Client, RetentionPolicy, Stream, connect
from pravega_lab.client.reader_group import RetentionType, reading
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.errors import BadInputError, StreamNotFoundError, TruncatedDataError
from pravega_lab.protocol.stream_cut import StreamCut
from tests.waiting import wait_until

PERIODS_PER_S = 10
BY_HAND = RetentionType.MANUAL_RELEASE_AT_USER_STREAMCUT


@pytest.fixture(scope="module")
def quick() -> Iterator[Client]:
    """A client of a store that truncates ten times a second."""
    with StoreProcess(scaling_clock=1_800 * PERIODS_PER_S) as store, connect(store.uri) as client:
        yield client


def offset(stream: Stream, cut: StreamCut | None = None) -> int:
    """The offset of the head of a stream of one segment, or of a cut."""
    [found] = (cut or stream.head()).positions.values()
    return found


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RetentionPolicy.by_time(-1), "minimum_ms=-1; give a whole number from 0"),
        (lambda: RetentionPolicy.by_time(1.5), "minimum_ms=1.5"),  # type: ignore[arg-type]
        (lambda: RetentionPolicy.by_size(2**63), "minimum_bytes=9223372036854775808"),
        (lambda: RetentionPolicy.by_size(10, 9), "maximum_bytes=9 is below minimum_bytes=10"),
        (lambda: RetentionPolicy.by_time(0, 0), "maximum_ms=0 is below"),
        (lambda: RetentionPolicy.by_time(None), "minimum_ms=None"),  # type: ignore[arg-type]
    ],
)
def test_a_policy_that_cannot_be_is_refused_where_it_is_made(call: Callable[[], object], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        call()


def test_policies_are_stored_with_their_maximum(quick: Client) -> None:
    stream = quick.create_stream("policies/a", retention=RetentionPolicy.by_time(60_000, 90_000))
    assert stream.configuration().retention == RetentionPolicy.by_time(60_000, 90_000)
    stream.update(retention=RetentionPolicy.by_size(10))
    assert stream.configuration().retention == RetentionPolicy.by_size(10)
    stream.update(retention=RetentionPolicy.none())
    assert stream.configuration().retention == RetentionPolicy.none()
    with pytest.raises(BadInputError, match="retention=60000 is no policy"):
        quick.create_stream("policies/b", retention=60_000)  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="retention=0 is no policy"):
        stream.update(retention=0)  # type: ignore[arg-type]
    with pytest.raises(StreamNotFoundError):
        quick.stream("policies/nowhere").subscribers()


def test_a_reader_whose_events_are_gone_is_told_so_and_resumes_at_the_head(quick: Client) -> None:
    stream = quick.create_stream("slow/readers", retention=RetentionPolicy.by_size(100))
    stream.write([f"event {n}" for n in range(1_000)])
    begin = stream.head()
    wait_until(lambda: stream.write("x" * 200) == 1 and offset(stream) > 1_000)
    stream.update(retention=RetentionPolicy.none())  # the head stays where it is
    with pytest.raises(TruncatedDataError) as gone, stream.read(begin) as batches:
        next(batches)
    cut = gone.value.resume_at
    assert isinstance(cut, StreamCut)
    assert offset(stream, cut) > 1_000
    assert list(stream.read(cut).events())[-1] == b"x" * 200


def test_a_group_holds_its_events_until_it_releases_them(quick: Client) -> None:
    stream = quick.create_stream("held/stream", retention=RetentionPolicy.by_time(0))
    group = quick.create_reader_group("held/group", reading(["held/stream"], retention_type=BY_HAND))
    assert stream.subscribers() == ["held/group"]
    stream.write(["one", "two"])
    middle = stream.tail()
    stream.write("three")
    time.sleep(5 / PERIODS_PER_S)
    assert offset(stream) == 0
    group.update_retention_stream_cut({"held/stream": middle})
    wait_until(lambda: stream.head() == middle)
    group.delete()
    assert stream.subscribers() == []
    wait_until(lambda: stream.head() == stream.tail())


def test_a_checkpoint_of_a_group_releases_what_it_covers(quick: Client) -> None:
    stream = quick.create_stream("auto/stream", retention=RetentionPolicy.by_time(0))
    release = RetentionType.AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT
    config = reading(["auto/stream"], automatic_checkpoint_interval_ms=1_000, retention_type=release)
    group = quick.create_reader_group("auto/group", config)
    stream.write(["one", "two", "three"])
    with group.create_reader("reader") as reader:
        found = []
        deadline = time.monotonic() + 20
        while stream.head() != stream.tail() or len(found) < 3:
            event = reader.read_next(timeout_s=0.1).event
            found += [event] if event is not None else []
            assert time.monotonic() < deadline
    assert found == [b"one", b"two", b"three"]
