"""Retention: what is truncated when, as the controller's calls show it (pravega.md A7)."""

from __future__ import annotations

from random import Random

from pravega_lab.engine.store.metadata import cuts
from pravega_lab.engine.store.metadata.epochs import Epochs, first_epoch, scaled_epoch
from pravega_lab.engine.store.metadata.records import RetentionRecord
from pravega_lab.engine.store.retention.choice import Limits, truncation_point
from pravega_lab.engine.store.retention.lower_bound import lower_bound
from pravega_lab.engine.store.retention.retention import PERIOD_MS, STREAMS_PER_TICK
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import segment_id, segment_name
from tests.engine.store.controller.driver import Driven, done, info

SIZE, TIME = pb.RetentionPolicy.SIZE, pb.RetentionPolicy.TIME
NO_MAXIMUM = 2**63 - 1


def name(segment: int) -> str:
    return segment_name("s", "a", segment)


def kept(
    kind: int, minimum: int, maximum: int = NO_MAXIMUM, *, segments: int = 1, scaling_clock: int = 1
) -> Driven:
    """A stream ``s/a`` with a policy."""
    driven = Driven(scaling_clock=scaling_clock)
    driven.make("a", segments)
    set_policy(driven, kind, minimum, maximum, segments)
    return driven


def set_policy(driven: Driven, kind: int, minimum: int, maximum: int = NO_MAXIMUM, segments: int = 1) -> None:
    policy = pb.RetentionPolicy(
        retentionType=pb.RetentionPolicy.RetentionPolicyType.Name(kind),
        retentionParam=minimum,
        retentionMax=maximum,
    )
    fixed = pb.ScalingPolicy(minNumSegments=segments)
    config = pb.StreamConfig(streamInfo=info("a"), scalingPolicy=fixed, retentionPolicy=policy)
    assert driven.call("updateStream", config).status == pb.UpdateStreamStatus.SUCCESS


def head(driven: Driven) -> dict[int, int]:
    found = driven.call("getSegments", pb.GetSegmentsRequest(streamInfo=info("a")))
    return {s.segmentId.segmentId: s.offset for s in found.segments}


def periods(driven: Driven, count: int = 1, *, wrote: int = 0) -> dict[int, int]:
    """Write ``wrote`` bytes in each of several periods, and return the head at the end."""
    for _ in range(count):
        if wrote:
            driven.append(name(0), bytes(wrote))
        driven.tick(PERIOD_MS // driven.scaling_clock)
    return head(driven)


def log_files(driven: Driven) -> int:
    """Write the snapshots that are due, and return how many files the log has."""
    while (snapshot := driven.storage.snapshot_wanted()) is not None:
        done(driven.disk.write_file(snapshot.name, snapshot.data))
        driven.storage.snapshot_written(snapshot)
    return sum(file.startswith("log-") for file in driven.disk.files())


def subscriber(group: str, at: dict[int, int] | None) -> pb.ReaderGroupConfiguration:
    start = pb.StreamCut(streamInfo=info("a"), cut=at or {})
    return pb.ReaderGroupConfiguration(
        scope="s",
        readerGroupName=group,
        maxOutstandingCheckpointRequest=1,
        retentionType=1,
        startingStreamCuts=[start],
    )


def subscribe(driven: Driven, group: str = "g", at: dict[int, int] | None = None) -> None:
    driven.call("createReaderGroup", subscriber(group, at))


def reset(driven: Driven, at: dict[int, int] | None, generation: int = 0) -> None:
    config = subscriber("g", at)
    config.readerGroupId, config.generation = "00000000-0000-0000-0000-000000000007", generation
    answer = driven.call("updateReaderGroup", config)
    assert answer.status == pb.UpdateReaderGroupResponse.SUCCESS


def release(driven: Driven, cut: dict[int, int], group: str = "g", generation: int = 0) -> None:
    asked = pb.SubscriberStreamCut(
        subscriber=f"s/{group}",
        generation=generation,
        readerGroupId="00000000-0000-0000-0000-000000000007",
        streamCut=pb.StreamCut(streamInfo=info("a"), cut=cut),
    )
    status = driven.call("updateSubscriberStreamCut", asked).status
    assert status == pb.UpdateSubscriberStatus.SUCCESS


def test_by_size_the_newest_cut_that_keeps_the_minimum_becomes_the_head() -> None:
    driven = kept(SIZE, 150)
    assert periods(driven, wrote=100) == {0: 0}  # a cut at 100, with nothing after it
    assert periods(driven, wrote=100) == {0: 0}  # 100 bytes after it: less than the minimum
    assert periods(driven, wrote=100) == {0: 100}
    assert driven.storage.info(name(0)).start_offset == 100
    assert periods(driven, 3, wrote=100) == {0: 400}
    assert periods(driven, 50) == {0: 400}  # nothing is written: nothing more is truncated


def test_by_time_what_is_older_than_the_minimum_goes_at_the_next_period() -> None:
    driven = kept(TIME, PERIOD_MS + 1)
    assert periods(driven, 2, wrote=10) == {0: 0}
    assert periods(driven, wrote=10) == {0: 10}
    assert periods(driven, 2) == {0: 30}  # a stream without writes is emptied


def test_a_truncation_frees_the_files_of_the_log() -> None:
    driven = kept(SIZE, 1)
    for _ in range(5):
        driven.append(name(0), bytes(1 << 20))
    assert log_files(driven) >= 5
    periods(driven)
    driven.append(name(0), bytes(1 << 20))
    assert periods(driven) == {0: 5 << 20}
    driven.append(name(0), bytes(1 << 20))
    assert log_files(driven) <= 4


def test_the_scaling_clock_divides_the_period_and_not_the_policy() -> None:
    driven = kept(TIME, 5_000, scaling_clock=1_800)
    driven.append(name(0), b"0123456789")
    driven.tick(5_999)
    assert head(driven) == {0: 0}
    driven.tick(1)  # recorded after one second, and five seconds old now
    assert head(driven) == {0: 10}


def test_recorded_cuts_survive_a_restart_and_cost_nothing_without_writes() -> None:
    driven = kept(SIZE, 10)
    assert periods(driven, wrote=100) == {0: 0}
    driven = driven.restarted()
    driven.append(name(0), bytes(10))
    assert periods(driven) == {0: 100}
    records = len(list(driven.storage.records("controller/retention")))
    periods(driven, 20)
    assert len(list(driven.storage.records("controller/retention"))) == records == 1


def test_a_sealed_stream_keeps_everything_and_a_deleted_one_leaves_no_record() -> None:
    driven = kept(TIME, 0)
    periods(driven, wrote=100)
    driven.append(name(0), bytes(100))
    driven.call("sealStream", info("a"))
    assert periods(driven, 3) == {0: 100}
    driven.call("deleteStream", info("a"))
    assert list(driven.storage.records("controller/retention")) == []
    assert driven.controller.next_deadline_ms() is None


def test_a_policy_can_be_taken_back() -> None:
    driven = kept(SIZE, 10)
    periods(driven, wrote=100)
    set_policy(driven, pb.RetentionPolicy.UNKNOWN, 0)
    assert driven.controller.next_deadline_ms() is None
    assert periods(driven, 3, wrote=100) == {0: 0}
    set_policy(driven, SIZE, 10)
    assert periods(driven, wrote=100) == {0: 100}


def test_a_cut_from_before_a_scale_and_one_after_it() -> None:
    driven = kept(SIZE, 15)
    periods(driven, wrote=10)
    driven.scale("a", [0], [(0.0, 0.5), (0.5, 1.0)])
    low, high = segment_id(1, 1), segment_id(1, 2)
    driven.append(name(low), bytes(10))
    assert periods(driven) == {0: 0}
    driven.append(name(high), bytes(20))
    assert periods(driven) == {low: 10, high: 0}
    assert not driven.storage.exists(name(0))


def test_a_truncation_by_hand_between_two_periods() -> None:
    driven = kept(SIZE, 50)
    periods(driven, 2, wrote=30)
    cut = pb.StreamCut(streamInfo=info("a"), cut={0: 45})
    assert driven.call("truncateStream", cut).status == pb.UpdateStreamStatus.SUCCESS
    assert periods(driven, wrote=30) == {0: 45}
    assert periods(driven, wrote=30) == {0: 60}


def test_many_streams_that_are_due_share_several_ticks() -> None:
    driven = Driven()
    streams = STREAMS_PER_TICK + 5
    for number in range(streams):
        driven.make(f"a{number}")
        policy = pb.RetentionPolicy(retentionType=TIME)
        fixed = pb.ScalingPolicy(minNumSegments=1)
        at = info(f"a{number}")
        driven.call(
            "updateStream", pb.StreamConfig(streamInfo=at, scalingPolicy=fixed, retentionPolicy=policy)
        )
        driven.append(segment_name("s", f"a{number}", 0), b"x")
    driven.now_ms += PERIOD_MS
    driven.controller.tick(driven.now_ms)
    driven.sync()
    assert len(list(driven.storage.records("controller/truncation"))) == STREAMS_PER_TICK
    driven.tick(1)
    assert len(list(driven.storage.records("controller/truncation"))) == streams


# ---- subscribers --------------------------------------------------------------------------------


def test_what_a_group_has_not_released_is_kept() -> None:
    driven = kept(SIZE, 10)
    subscribe(driven)
    assert periods(driven, 5, wrote=100) == {0: 0}  # the group has reported nothing
    release(driven, {0: 250})
    assert periods(driven) == {0: 250}
    release(driven, {0: 495})  # keeps less than the minimum: the recorded cut that keeps it counts
    assert periods(driven) == {0: 400}
    assert periods(driven, wrote=100) == {0: 495}


def test_a_group_that_begins_later_holds_from_there() -> None:
    driven = kept(SIZE, 10)
    subscribe(driven, at={0: 120})
    assert periods(driven, 3, wrote=100) == {0: 120}


def test_a_group_that_is_reset_holds_what_it_will_read_again() -> None:
    driven = kept(SIZE, 10)
    for group in ("g", "h"):  # h holds everything, so that nothing is truncated before the reset
        subscribe(driven, group)
    periods(driven, 4, wrote=100)
    release(driven, {0: 350})
    reset(driven, {0: 120})
    release(driven, {0: 360}, "h")
    assert periods(driven, 2, wrote=100) == {0: 120}
    release(driven, {0: 130}, generation=1)
    assert periods(driven.restarted()) == {0: 130}


def test_a_group_that_is_reset_to_the_head_holds_everything() -> None:
    driven = kept(SIZE, 10)
    for group in ("g", "h"):
        subscribe(driven, group)
    periods(driven, 4, wrote=100)
    release(driven, {0: 350})
    reset(driven, None)
    release(driven, {0: 360}, "h")
    assert periods(driven, 2, wrote=100) == {0: 0}


def test_a_reset_to_a_later_place_releases_nothing_by_itself() -> None:
    driven = kept(SIZE, 10)
    subscribe(driven)
    periods(driven, 4, wrote=100)
    release(driven, {0: 150})
    reset(driven, {0: 350})
    assert periods(driven) == {0: 150}


def test_the_slowest_of_several_groups_counts() -> None:
    driven = kept(TIME, 0)
    for group in ("g", "h"):
        subscribe(driven, group)
    periods(driven, 3, wrote=100)
    release(driven, {0: 300}, "g")
    release(driven, {0: 120}, "h")
    assert periods(driven) == {0: 120}
    gone = pb.ReaderGroupInfo(
        scope="s", readerGroup="h", readerGroupId="00000000-0000-0000-0000-000000000007"
    )
    driven.call("deleteReaderGroup", gone)
    assert periods(driven) == {0: 300}


def test_the_maximum_by_size_cuts_what_a_slow_group_has_not_read() -> None:
    driven = kept(SIZE, 100, 250)
    subscribe(driven)
    release(driven, {0: 10})
    assert periods(driven, 2, wrote=100) == {0: 10}
    assert periods(driven, wrote=100) == {0: 100}  # 290 bytes were kept: the cut that keeps 200
    release(driven, {0: 50})  # before the head: nothing moves back
    assert periods(driven) == {0: 100}
    assert periods(driven, wrote=100) == {0: 200}


def test_a_maximum_of_0_is_none() -> None:
    driven = kept(SIZE, 100, 0)
    subscribe(driven)
    assert periods(driven, 4, wrote=100) == {0: 0}


def test_the_maximum_by_time_cuts_what_a_slow_group_has_not_read() -> None:
    driven = kept(TIME, PERIOD_MS, 2 * PERIOD_MS)
    subscribe(driven)
    assert periods(driven, 2, wrote=100) == {0: 0}
    assert periods(driven, wrote=100) == {0: 100}  # as old as the maximum
    release(driven, {0: 150})
    assert periods(driven) == {0: 200}  # the group is beyond the maximum again
    release(driven, {0: 300})
    assert periods(driven) == {0: 300}


def test_by_time_a_fast_group_does_not_shorten_the_minimum() -> None:
    driven = kept(TIME, PERIOD_MS)
    subscribe(driven)
    periods(driven, wrote=100)
    release(driven, {0: 100})
    assert periods(driven, wrote=100) == {0: 100}
    release(driven, {0: 200})
    driven.append(name(0), bytes(100))
    assert head(driven) == {0: 100}
    assert periods(driven) == {0: 200}


def test_of_two_cuts_that_keep_as_much_the_one_of_the_group_counts() -> None:
    """The recorded cut keeps as many bytes, but is after what the group has read of segment 0."""
    epochs = Epochs([first_epoch([(0.0, 0.5), (0.5, 1.0)], 0, now_ms=0)])
    recorded = [
        RetentionRecord(n, "s", "a", size, cut)
        for n, (size, cut) in enumerate([(0, {0: 0, 1: 0}), (100, {0: 100, 1: 0}), (400, {0: 200, 1: 200})])
    ]
    limits = Limits(by_time=False, minimum=100, maximum=300)
    bound = {0: 50, 1: 50}
    assert truncation_point(epochs, limits, recorded, bound, 300, 5) == bound
    assert truncation_point(epochs, limits, recorded, {0: 49, 1: 50}, 301, 5) == {0: 100, 1: 0}


def test_near_the_tail_the_newest_recorded_cut_that_the_group_has_passed_counts() -> None:
    """The group's own cut keeps too little. The cut that keeps enough is beyond the group in segment 0."""
    epochs = Epochs([first_epoch([(0.0, 0.5), (0.5, 1.0)], 0, now_ms=0)])
    recorded = [
        RetentionRecord(n, "s", "a", size, cut)
        for n, (size, cut) in enumerate(
            [(0, {0: 0, 1: 0}), (40, {0: 40, 1: 0}), (100, {0: 100, 1: 0}), (400, {0: 200, 1: 200})]
        )
    ]
    limits = Limits(by_time=False, minimum=250)
    assert truncation_point(epochs, limits, recorded, {0: 50, 1: 200}, 150, 5) == {0: 40, 1: 0}
    assert truncation_point(epochs, limits, recorded, {0: 120, 1: 200}, 80, 5) == {0: 100, 1: 0}


def test_a_group_at_the_end_of_a_segment_has_passed_what_nobody_wrote_after_it() -> None:
    """It had released all there was, and the start of the successors was as old as the maximum."""
    epochs = Epochs([first_epoch([(0.0, 1.0)], 0, now_ms=0)])
    epochs.add(scaled_epoch(epochs.active, [0], [(0.0, 0.5), (0.5, 1.0)], now_ms=0))
    left, right = (s.segment_id for s in epochs.active.segments)
    cuts: list[tuple[int, int, dict[int, int]]] = [
        (2_257, 233, {left: 0, right: 0}),
        (2_757, 557, {left: 178, right: 146}),
        (3_257, 865, {left: 205, right: 427}),
    ]
    recorded = [RetentionRecord(now_ms, "s", "a", size, cut) for now_ms, size, cut in cuts]
    limits = Limits(by_time=True, minimum=300, maximum=900)
    released = {0: 233}
    assert truncation_point(epochs, limits, recorded, released, 632, 3_257) == released
    # One byte of segment 0 that is not released makes the group too slow.
    assert truncation_point(epochs, limits, recorded, {0: 232}, 633, 3_257) == cuts[1][2]


# ---- the lower bound ----------------------------------------------------------------------------


def read_positions(chance: Random, epochs: Epochs, steps: int) -> dict[int, int]:
    """A cut of a reader that reads segments in an order that successors allow."""
    at = {s.segment_id: 0 for s in epochs.epoch(0).segments}
    for _ in range(steps):
        chosen = chance.choice([segment for segment, offset in sorted(at.items()) if offset >= 0])
        after = epochs.successors(chosen)
        if chance.random() < 0.5 or not after:
            at[chosen] += chance.randint(0, 3)
            continue
        at[chosen] = -1
        if all(at.get(before, 0) < 0 for s in after for before in s.predecessors):
            for before in after[0].predecessors:
                del at[before]
            at |= {s.segment.segment_id: 0 for s in after}
    return at


def test_the_lower_bound_is_valid_and_after_no_reader() -> None:
    for seed in range(200):
        check_lower_bound(seed)


def check_lower_bound(seed: int) -> None:
    chance = Random(seed)
    epochs = Epochs([first_epoch([(0.0, 0.5), (0.5, 1.0)], 0, now_ms=0)])
    for _ in range(chance.randint(0, 5)):
        active = epochs.active.segments
        first = chance.randrange(len(active))
        replaced = active[first : first + chance.choice((1, 2))]
        low, high = replaced[0].low, replaced[-1].high
        bounds = [(low, high)] if len(replaced) == 2 else [(low, (low + high) / 2), ((low + high) / 2, high)]
        epochs.add(scaled_epoch(epochs.active, [s.segment_id for s in replaced], bounds, now_ms=0))
    given = [read_positions(chance, epochs, chance.randint(0, 20)) for _ in range(chance.randint(1, 3))]
    assert all(cuts.is_valid(epochs, cut) for cut in given)
    bound = lower_bound(epochs, given)
    assert bound is not None
    assert all(cuts.is_not_before(epochs, cut, bound) for cut in given)
    if len(given) == 1:
        assert bound == given[0]
    later = [cut for cut in given if all(cuts.is_not_before(epochs, other, cut) for other in given)]
    assert not later or cuts.is_not_before(epochs, bound, later[0])


def test_the_lower_bound_in_the_middle_of_a_merge() -> None:
    epochs = Epochs([first_epoch([(0.0, 0.5), (0.5, 1.0)], 0, now_ms=0)])
    epochs.add(scaled_epoch(epochs.active, [0, 1], [(0.0, 1.0)], now_ms=0))
    merged = segment_id(1, 2)
    half = {0: 7, merged: -1}  # segment 1 is read to its end
    assert lower_bound(epochs, [half, {merged: 5}]) == half
    assert lower_bound(epochs, [{0: 9, 1: 3}, half]) == {0: 7, 1: 3}
    assert lower_bound(epochs, [{0: -1, 1: 4}, {merged: 2}]) == {0: -1, 1: 4}
    assert lower_bound(epochs, [{0: -1, 1: 4}, half]) == {0: 7, 1: 4}
