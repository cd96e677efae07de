"""Reader groups of this client, on the embedded store and on a released Pravega 0.13.0."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from pravega_lab.client import Client, Stream, connect
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.client.reader_group import (
    Checkpoint,
    CheckpointFailedError,
    CheckpointTimeoutError,
    ConfigMismatchError,
    ReaderExistsError,
    ReaderGroup,
    ReaderGroupNotFoundError,
    ReinitializationRequiredError,
    RetentionType,
    TooManyCheckpointsError,
    reader_group,
    reading,
)
from pravega_lab.errors import (
    BadInputError,
    NotFoundError,
    RefusedError,
    ScopeNotFoundError,
    StreamNotFoundError,
    TruncatedDataError,
)
from pravega_lab.protocol.metadata.reader_group import UpdatingConfig
from pravega_lab.protocol.names import parse_segment_name
from pravega_lab.protocol.stream_cut import StreamCut
from tests.conformance.reader_group.readers import Readers, config, each_once, new_group, new_stream, write


@pytest.fixture
def scope(scope_name: Callable[[], str]) -> str:
    return scope_name()


@pytest.fixture
def stream(client: Client, scope: str) -> Stream:
    return new_stream(client, f"{scope}/x", 2)


def events_before(stream: Stream, checkpoint: Checkpoint) -> list[str]:
    with stream.read(end=checkpoint.stream_cuts[stream.scoped_name]) as batches:
        return [event.decode() for batch in batches for event in batch.column(0).to_pylist()]


def merge_all(stream: Stream) -> int:
    return stream.merge([segment.segment_id for segment in stream.segments()]).segment_id


# being


def test_a_group_is_created_once(client: Client, stream: Stream) -> None:
    group = new_group(client, stream)
    assert not group.create(config(stream))
    with pytest.raises(ConfigMismatchError):
        group.create(config(stream, group_refresh_time_ms=777))
    assert client.create_reader_group(group.scoped_name, config(stream)).state().unassigned != {}
    assert group.config() == config(stream, ending_stream_cuts=group.config().ending_stream_cuts)
    assert group.online_readers() == []
    assert group.delete()
    assert not group.delete()
    with pytest.raises(ReaderGroupNotFoundError):
        group.create_reader("r1")


def test_what_a_group_cannot_be(client: Client, stream: Stream, scope: str) -> None:
    with pytest.raises(StreamNotFoundError):
        reader_group(client, f"{scope}/g").create(config(client.stream(f"{scope}/none")))
    with pytest.raises(ScopeNotFoundError):
        reader_group(client, f"{scope}none/g").create(config(stream))
    with pytest.raises(BadInputError):
        reader_group(client, f"{scope}/g").create(config())
    with pytest.raises(BadInputError):
        reader_group(client, f"{scope}/not_a_name")
    with pytest.raises(ReaderGroupNotFoundError):
        reader_group(client, f"{scope}/none").state()


def test_a_group_that_cannot_be_created_leaves_nothing(client: Client, stream: Stream, scope: str) -> None:
    group = reader_group(client, f"{scope}/half")
    strange_cut = StreamCut(stream.scoped_name, {99: 0})
    for wrong in (config(client.stream(f"{scope}/none")), reading([stream.scoped_name], start=[strange_cut])):
        with pytest.raises(NotFoundError):
            group.create(wrong)
        assert group.name not in client.list_reader_groups(scope)
    assert group.create(config(stream))
    with pytest.raises(BadInputError, match="checkpoint 5: its name is a text"):
        group.initiate_checkpoint(5)  # type: ignore[arg-type]


def test_a_group_that_would_skip_events_is_refused(client: Client, stream: Stream, scope: str) -> None:
    write(stream, 0, 10)
    middle = stream.tail()
    write(stream, 10, 20)
    name, tail = stream.scoped_name, stream.tail()
    impossible = {
        "the end .* lies before the start": reading([name], start=[tail], end=[middle]),
        "lies after the end of segment 1": reading([name], start=[StreamCut(name, {0: 0, 1: 10**7})]),
        "segment 0 was read to its end, but .* not sealed": reading(
            [name], start=[StreamCut(name, {0: -1, 1: 0})]
        ),
    }
    for number, (words, wrong) in enumerate(impossible.items()):
        # A released controller refuses an ending cut before the start itself, and does not say why.
        with pytest.raises((BadInputError, RefusedError), match=f"{words}|INTERNAL"):
            reader_group(client, f"{scope}/odd{number}").create(wrong)
    assert list(client.list_reader_groups(scope)) == []
    group = reader_group(client, f"{scope}/right")
    group.create(reading([name], start=[middle]))
    for words, wrong in impossible.items():
        with pytest.raises(BadInputError, match=words):
            group.reset(config=wrong)
    assert group.config().starting_stream_cuts == {name: middle}
    stream.truncate(tail)
    with pytest.raises(BadInputError, match=r"the end .* lies before the start"):
        reader_group(client, f"{scope}/late").create(reading([name], end=[middle]))


@pytest.mark.slow
def test_a_group_between_two_forms_of_one_place_reads_nothing(client: Client, scope: str) -> None:
    stream = new_stream(client, f"{scope}/forms", 1)
    stream.write(["a", "b"], ["0", "1"])
    low, high = (segment.segment_id for segment in stream.split(0))
    stream.write(["c", "d"], ["1", "0"])  # into the lower and into the upper half
    merged = merge_all(stream)
    split, middle = {low: 0, high: 0}, {high: 0, merged: -1}
    forms = [
        (split, {0: 18}),
        (split, {0: -1}),
        ({0: -1}, {0: 18}),
        (middle, middle),
        (middle, {low: 9, high: 0}),
        ({high: 0, merged: 0}, {low: -1, high: 0}),
    ]

    def group_between(number: int, *bounds: dict[int, int]) -> ReaderGroup:
        start, end = (StreamCut(stream.scoped_name, positions) for positions in bounds)
        group = reader_group(client, f"{scope}/forms{number}")
        group.create(reading([stream.scoped_name], start=[start], end=[end]))
        return group

    for number, (start, end) in enumerate(forms):
        with group_between(number, start, end).create_reader("r1") as reader:
            assert list(reader) == []
        assert not group_between(number, start, end).state().unassigned
    for number, (start, end) in enumerate([(middle, split), (split, {0: 9}), (middle, {0: -1})]):
        with pytest.raises((BadInputError, RefusedError), match=r"the end .* lies before the start|INTERNAL"):
            group_between(100 + number, start, end)


def test_what_is_unread_up_to_an_end(client: Client, scope: str) -> None:
    stream = new_stream(client, f"{scope}/ends", 1)
    stream.write(["a", "b"], ["0", "1"])
    low, high = (segment.segment_id for segment in stream.split(0))
    stream.write(["c", "d"], ["1", "0"])  # into the lower and into the upper half
    merge_all(stream)
    unread = {(0, -1): 18, (9, -1): 9, (9, 18): 9, (18, -1): 0}
    for number, ((start, end), n_bytes) in enumerate(unread.items()):
        cuts = [StreamCut(stream.scoped_name, {0: offset}) for offset in (start, end)]
        group = reader_group(client, f"{scope}/ends{number}")
        group.create(reading([stream.scoped_name], start=cuts[:1], end=cuts[1:]))
        assert group.unread_bytes() == n_bytes
    middle = StreamCut(stream.scoped_name, {low: -1, high: 0})
    group = reader_group(client, f"{scope}/middle")
    group.create(reading([stream.scoped_name], end=[middle]))
    assert group.unread_bytes() == 27


def test_a_reader_id_is_taken_once(client: Client, stream: Stream) -> None:
    group = new_group(client, stream)
    with group.create_reader("r1"):
        with pytest.raises(ReaderExistsError):
            group.create_reader("r1")
        assert group.online_readers() == ["r1"]
    assert group.online_readers() == []
    with group.create_reader("r1") as again:
        assert not again.is_closed


def test_readers_of_a_deleted_group_are_told(client: Client, stream: Stream) -> None:
    group = new_group(client, stream)
    readers = Readers(group).add("r1")
    group.delete()
    with pytest.raises(ReaderGroupNotFoundError):
        readers.until(lambda: False)
    assert readers.readers[0].is_closed


# reading


def test_two_readers_share_and_read_everything_once(client: Client, stream: Stream) -> None:
    written = write(stream, 0, 100)
    readers = Readers(new_group(client, stream)).add("r1", "r2")
    readers.share(1, 1)
    each_once(readers.read(100), written)
    assert len(readers.by_reader) == 2
    readers.close()


@pytest.mark.slow
def test_a_split_and_a_merge_keep_the_order_of_every_key(client: Client, stream: Stream) -> None:
    written = write(stream, 0, 60)
    readers = Readers(new_group(client, stream, automatic_checkpoint_interval_ms=300)).add("r1", "r2")
    readers.share(1, 1)
    stream.split(stream.segments()[0].segment_id, 2)
    written += write(stream, 60, 120)
    readers.read(90)
    merge_all(stream)
    written += write(stream, 120, 180)
    each_once(readers.read(180), written)
    readers.close()


def test_batches(client: Client, stream: Stream) -> None:
    written = write(stream, 0, 3000)
    group = new_group(client, stream)
    found: list[str] = []
    with group.create_reader("r1") as reader:
        first = reader.read_next(10.0)
        assert first.event is not None
        found.append(first.event.decode())
        while len(found) < 3000:
            read = reader.read_batch(10.0, max_bytes=5000)
            assert read.batch is not None
            assert read.stream == stream.scoped_name
            found += [event.decode() for event in read.batch.column("event").to_pylist()]
        position = reader.position()
    each_once(found, written)
    ends = {s.segment_id: stream.segment_info(s.segment_id).write_offset for s in stream.segments()}
    assert sorted(position.segments.values()) == sorted(ends.values())
    assert group.unread_bytes() == 0


def test_the_end_of_sealed_streams(client: Client, stream: Stream, scope: str) -> None:
    written = write(stream, 0, 20)
    other = new_stream(client, f"{scope}/y")
    group = reader_group(client, f"{scope}/g")
    assert group.create(config(stream, other, automatic_checkpoint_interval_ms=200))
    stream.seal()
    other.seal()
    readers = Readers(group).add("r1", "r2")
    readers.until(lambda: readers.completed, "the end of the streams")
    each_once(readers.events, written)
    readers.close()


def test_a_group_that_ends_at_a_cut(client: Client, stream: Stream) -> None:
    written = write(stream, 0, 40)
    end = stream.tail()
    write(stream, 40, 80)
    ends = {stream.scoped_name: end}
    group = new_group(client, stream, ending_stream_cuts=ends, automatic_checkpoint_interval_ms=200)
    assert group.unread_bytes() == sum(end.positions.values())
    readers = Readers(group).add("r1")
    readers.until(lambda: readers.completed, "the end of the group")
    each_once(readers.events, written)
    readers.close()


def test_truncated_events_are_reported_and_reading_goes_on(client: Client, stream: Stream) -> None:
    """The segments are active: they are not given up, as some clients of upstream do."""
    write(stream, 0, 50)
    group = new_group(client, stream)
    cut = stream.tail()
    stream.truncate(cut)
    written = write(stream, 50, 100)
    # The group begins at the head as it was before the truncation.
    group.reset({stream.scoped_name: StreamCut(cut.scoped_stream, dict.fromkeys(cut.positions, 0))})
    readers = Readers(group).add("r1")
    told = 0
    while len(readers.events) < 50:
        try:
            readers.read(50)
        except TruncatedDataError:
            told += 1
    assert told == 2
    each_once(readers.events, written)
    readers.close()


# checkpoints


def test_a_checkpoint_is_a_consistent_cut(client: Client, stream: Stream) -> None:
    write(stream, 0, 100)
    readers = Readers(new_group(client, stream)).add("r1", "r2")
    readers.share(1, 1)
    readers.read(40)
    checkpoint = readers.checkpoint("one")
    reported = [(reader, name) for reader, name in readers.checkpoints if name == "one"]
    assert sorted(reported) == [("r1", "one"), ("r2", "one")]
    before = events_before(stream, checkpoint)
    assert all(event in readers.events for event in before)
    assert readers.group.last_checkpoint_cuts() == checkpoint.stream_cuts
    tail_bytes = sum(stream.tail().positions.values())
    at = sum(checkpoint.stream_cuts[stream.scoped_name].positions.values())
    assert readers.group.unread_bytes() == tail_bytes - at
    readers.close()


def test_reset_to_a_checkpoint_delivers_the_rest_again(client: Client, stream: Stream) -> None:
    written = write(stream, 0, 100)
    readers = Readers(new_group(client, stream)).add("r1", "r2")
    readers.share(1, 1)
    readers.read(40)
    checkpoint = readers.checkpoint("one")
    readers.read(100)
    readers.checkpoint("two")
    readers.group.reset(checkpoint)
    for reader in readers.readers:
        with pytest.raises(ReinitializationRequiredError):
            Readers(readers.group, [reader]).until(lambda: False)
        assert reader.is_closed
    again = Readers(readers.group).add("r1", "r2")
    before = events_before(stream, checkpoint)
    each_once(before + again.read(100 - len(before)), written)
    again.close()


def test_reset_without_a_place_goes_to_the_last_checkpoint(client: Client, stream: Stream) -> None:
    written = write(stream, 0, 40)
    readers = Readers(new_group(client, stream)).add("r1")
    readers.read(10)
    checkpoint = readers.checkpoint("one")
    before = events_before(stream, checkpoint)
    readers.read(40)
    readers.group.reset()
    assert readers.group.config().starting_stream_cuts == checkpoint.stream_cuts
    again = Readers(readers.group).add("r2")
    each_once(before + again.read(40 - len(before)), written)
    again.close()


def test_resets_by_several(client: Client, stream: Stream, uri: str) -> None:
    group = new_group(client, stream)
    first = group.config()
    group.reset({stream.scoped_name: stream.tail()})
    assert group.config().generation == first.generation + 1
    with connect(uri) as other:
        again = reader_group(other, group.scoped_name)
        again.reset()
    assert group.config().generation == first.generation + 2
    group.reset()
    assert group.config().generation == first.generation + 3
    with pytest.raises(BadInputError):
        group.reset({"no/stream": stream.tail()})
    with pytest.raises(BadInputError, match="a cut for each stream"):
        group.reset(stream.tail())  # type: ignore[arg-type]


@pytest.mark.parametrize("controller_knows", [False, True])
def test_a_reset_that_got_stuck_is_finished_by_a_reader(
    client: Client, stream: Stream, controller_knows: bool
) -> None:
    """The program that resets dies before it tells the controller, or right behind that."""
    group = new_group(client, stream)
    written = write(stream, 0, 20)
    readers = Readers(group).add("r1")
    readers.read(20)
    access, run = group._core._access, loop_thread().run
    run(access.fetch())
    run(access.sync.update(lambda _: [UpdatingConfig(True)]))
    if controller_knows:
        run(access.calls.update(group.config()))
        with pytest.raises(ReinitializationRequiredError):
            readers.until(lambda: False)
        assert group.config().generation == 1
        again = Readers(group).add("r2")
        each_once(again.read(20), written)
        again.close()
    else:
        readers.until(lambda: not group.state().updating_config, "the flag is taken back")
        assert group.online_readers() == ["r1"]
        assert group.config().generation == 0
        readers.close()


def test_silent_cuts_move_nothing(client: Client, stream: Stream) -> None:
    write(stream, 0, 60)
    readers = Readers(new_group(client, stream)).add("r1")
    readers.read(60)
    before = readers.group.assignments()
    pending = _in_background(lambda: readers.group.generate_stream_cuts(30))
    readers.until(pending.done, "the cuts")
    assert pending.result() == {stream.scoped_name: stream.tail()}
    assert readers.checkpoints == []
    assert readers.group.assignments() == before
    assert readers.group.last_checkpoint_cuts() is None
    readers.close()


def test_checkpoints_wait_for_readers_up_to_a_maximum(client: Client, stream: Stream) -> None:
    group = new_group(client, stream, max_outstanding_checkpoint_request=2)
    readers = Readers(group).add("r1", "r2")
    first, _ = group.initiate_checkpoint("a"), group.initiate_checkpoint("b")
    with pytest.raises(TooManyCheckpointsError):
        group.initiate_checkpoint("c")
    assert sorted(first.waiting_for()) == ["r1", "r2"]
    with pytest.raises(
        CheckpointTimeoutError, match=r"checkpoint 'a' of .* within 0.05 s .*'r1', 'r2'"
    ) as late:
        first.result(timeout_s=0.05)
    assert isinstance(late.value, TimeoutError)
    group.cancel_outstanding_checkpoints()
    with pytest.raises(CheckpointFailedError):
        first.result(10)
    assert readers.checkpoint("c").name == "c"
    readers.close()


def test_a_checkpoint_without_readers(client: Client, stream: Stream) -> None:
    group = new_group(client, stream)
    found = group.initiate_checkpoint("alone").result(10)
    assert found.stream_cuts == {stream.scoped_name: stream.head()}


def test_a_cut_in_the_middle_of_a_merge_covers_the_key_space(client: Client, stream: Stream) -> None:
    """One half of a merge is completed, the other is being read; a reset to there loses nothing."""
    halves = sorted(segment.segment_id for segment in stream.segments())
    written = write(stream, 0, 1000)
    merge_all(stream)
    written += write(stream, 1000, 1020)
    readers = Readers(new_group(client, stream)).add("r1", "r2")
    readers.share(1, 1)
    slow, fast = readers.readers
    readers.readers = [fast]
    readers.until(lambda: list(fast.position().segments.values()) == [-1], "one half is read")
    for name in ("completes the half", "in the middle"):
        pending = readers.group.initiate_checkpoint(name)
        while slow.reader_id in pending.waiting_for():
            readers.readers = [slow]
            readers.turn()
            readers.readers = [fast]
            readers.turn()
        checkpoint = readers.wait_for(pending)
    state = readers.group.state()
    assert len(state.positions()) == len(state.future) == 1  # the stored positions are those of one half
    cut = checkpoint.stream_cuts[stream.scoped_name]
    for found in (cut, readers.group.stream_cuts()[stream.scoped_name]):
        assert sorted(found.positions) == halves
        assert sorted(found.positions.values())[0] == -1 < sorted(found.positions.values())[1]
    before = events_before(stream, checkpoint)
    assert 500 < len(before) < 1000
    readers.group.reset(
        config=replace(
            config(stream, automatic_checkpoint_interval_ms=300), starting_stream_cuts=checkpoint.stream_cuts
        )
    )
    again = Readers(readers.group).add("r3")
    each_once(before + again.read(1020 - len(before)), written)
    again.close()


# death


@pytest.mark.slow
def test_a_dead_readers_segments_go_on_at_its_last_checkpoint(client: Client, stream: Stream) -> None:
    written = write(stream, 0, 100)
    readers = Readers(new_group(client, stream)).add("r1", "r2")
    readers.share(1, 1)
    readers.read(30)
    readers.checkpoint("one")
    held = readers.group.assignments()["r1"]
    readers.read(100)
    dead = readers.readers.pop(0)
    dead.abandon()
    by_dead = readers.by_reader["r1"]
    pending = readers.group.initiate_checkpoint("two")
    readers.turn()
    assert "r1" in pending.waiting_for()
    assert readers.group.reader_offline("r1")
    assert not readers.group.reader_offline("r1")
    readers.wait_for(pending)
    readers.until(lambda: len(readers.group.assignments()["r2"]) == 2, "the other takes over")
    (segment,) = held
    redelivered = _events_from(stream, segment, held[segment])
    readers.read(100 + len(redelivered))
    again = readers.events[100:]
    assert again == redelivered
    assert redelivered == by_dead[len(by_dead) - len(redelivered) :]
    assert sorted(readers.events[:100]) == sorted(written)
    readers.close()


def test_offline_at_a_position(client: Client, stream: Stream) -> None:
    written = write(stream, 0, 60)
    readers = Readers(new_group(client, stream)).add("r1")
    readers.read(25)
    position = readers.readers[0].position()
    first = list(readers.events)
    readers.read(60)
    readers.readers.pop().abandon()
    readers.group.reader_offline("r1", position)
    again = Readers(readers.group).add("r2")
    each_once(first + again.read(35), written)
    again.close()


def test_closing_at_a_position(client: Client, stream: Stream) -> None:
    written = write(stream, 0, 60)
    readers = Readers(new_group(client, stream)).add("r1")
    readers.read(25)
    position, first = readers.readers[0].position(), list(readers.events)
    readers.read(60)
    readers.readers.pop().close_at(position)
    again = Readers(readers.group).add("r2")
    each_once(first + again.read(35), written)
    again.close()


# retention


def test_releasing_by_hand(client: Client, stream: Stream) -> None:
    write(stream, 0, 20)
    by_hand = RetentionType.MANUAL_RELEASE_AT_USER_STREAMCUT
    group = new_group(client, stream, retention_type=by_hand)
    cut = {stream.scoped_name: stream.tail()}
    group.update_retention_stream_cut(cut)
    part = dict(list(cut[stream.scoped_name].positions.items())[:1])
    with pytest.raises(RefusedError):
        group.update_retention_stream_cut({stream.scoped_name: StreamCut(stream.scoped_name, part)})


def test_releasing_at_the_last_checkpoint(client: Client, stream: Stream) -> None:
    write(stream, 0, 20)
    at_last = RetentionType.AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT
    readers = Readers(new_group(client, stream, retention_type=at_last)).add("r1")
    readers.read(20)
    with pytest.raises(BadInputError):
        readers.group.update_retention_stream_cut({stream.scoped_name: stream.tail()})
    readers.checkpoint("one")
    readers.until(lambda: readers.group.state().checkpoints.is_last_published, "published")
    readers.close()


def test_numbers(client: Client, stream: Stream) -> None:
    write(stream, 0, 10)
    group = new_group(client, stream)
    metrics = group.metrics()
    assert metrics.unread_bytes == sum(stream.tail().positions.values())
    assert (metrics.n_readers, metrics.n_segments, metrics.n_unassigned) == (0, 2, 2)
    assert (metrics.n_waiting_successors, metrics.n_outstanding_checkpoints) == (0, 0)
    readers = Readers(group).add("r1")
    readers.read(10)
    group.initiate_checkpoint("one")
    metrics = group.metrics()
    assert (metrics.n_readers, metrics.n_unassigned, metrics.n_outstanding_checkpoints) == (1, 0, 1)
    readers.close()


def _events_from(stream: Stream, segment: str, offset: int) -> list[str]:
    wanted = parse_segment_name(segment).segment_id
    with stream.read(segments=[wanted]) as batches:
        rows = [row for batch in batches for row in batch.to_pylist()]
    return [row["event"].decode() for row in rows if row["offset"] >= offset]


def _in_background(call: Callable[[], Any]) -> Future[Any]:
    pool = ThreadPoolExecutor(1)
    future = pool.submit(call)
    pool.shutdown(wait=False)
    return future
