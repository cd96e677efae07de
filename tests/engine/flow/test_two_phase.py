"""The two-phase operator by itself, rescaling of list state, and the committers of FLIP-143."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.errors import DamagedCheckpointError, IllegalStateError, RestoreError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.operators.operator import Collector, OperatorContext
from pravega_lab.engine.flow.sink.sinks import (
    CommitRequest,
    Committer,
    GlobalCommitter,
    Sink,
    SinkContext,
    SinkWriter,
    TwoPhaseCommitSink,
)
from pravega_lab.engine.flow.sink.two_phase import STATE, TwoPhaseCommitOperator
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness
from pravega_lab.engine.flow.state import plain_values as plain
from pravega_lab.engine.flow.state.handles import Blob, ListMode, ListState, OperatorState, SubtaskState
from pravega_lab.engine.flow.state.keys import key_group, key_group_range, owner_of
from pravega_lab.engine.flow.state.rescale import redistribute
from pravega_lab.engine.flow.state.state import KeyedState, OperatorLists
from pravega_lab.engine.flow.time.timers import TimerService
from pravega_lab.errors import BadInputError
from tests.engine.flow.jobs import Virtual


class Recorded(TwoPhaseCommitSink):
    """Writes down what is asked of it; `broken` transactions cannot be committed."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.broken: set[str] = set()
        self._begun = 0

    def begin(self) -> str:
        self._begun += 1
        return f"t{self._begun}"

    def write(self, transaction: str, batch: Batch) -> None:
        self.calls.append(f"write {transaction}")

    def finish_processing(self, transaction: str) -> None:
        self.calls.append(f"finish {transaction}")

    def pre_commit(self, transaction: str) -> None:
        self.calls.append(f"pre-commit {transaction}")

    def commit(self, transaction: str) -> None:
        self.calls.append(f"commit {transaction}")
        if transaction in self.broken:
            raise ConnectionError(transaction)

    def abort(self, transaction: str) -> None:
        self.calls.append(f"abort {transaction}")

    def take(self) -> list[str]:
        taken, self.calls = self.calls, []
        return taken


def operator_of(sink: Recorded, state: Sequence[Any] = (), now_ms: int = 0) -> TwoPhaseCommitOperator:
    operator, keyed = TwoPhaseCommitOperator(sink), KeyedState(8, range(8))
    lists = OperatorLists()
    lists.of(STATE, ListMode.SPLIT).extend(state)
    context = OperatorContext(
        "s", "sink", SubtaskId("s", 0), 0, 1, 8, keyed, lists, TimerService(keyed), Collector(),
        lambda: now_ms, lambda: "id",
    )  # fmt: skip
    operator.setup(context)
    asyncio.run(operator.initialize_state())
    return operator


ROW = Batch.of_rows([{"n": 1}])


def test_the_life_of_transactions() -> None:
    sink = Recorded()
    operator = operator_of(sink)
    operator.process_batch(ROW, 0)
    asyncio.run(operator.snapshot_state(1))
    operator.process_batch(ROW, 0)
    asyncio.run(operator.snapshot_state(2))
    asyncio.run(operator.notify_checkpoint_complete(2))
    asyncio.run(operator.notify_checkpoint_complete(1))  # late, harmless
    assert sink.take() == [
        "write t1", "pre-commit t1", "write t2", "pre-commit t2", "commit t1", "commit t2",
    ]  # fmt: skip
    asyncio.run(operator.finish())
    asyncio.run(operator.snapshot_state(3))
    with pytest.raises(IllegalStateError, match="after it had finished"):
        operator.process_batch(ROW, 0)
    asyncio.run(operator.notify_checkpoint_complete(3))
    asyncio.run(operator.close())
    assert sink.take() == ["finish t3", "pre-commit t3", "commit t3"]


def test_ids_above_the_completed_one_stay_and_close_aborts_the_open_one_only() -> None:
    sink = Recorded()
    operator = operator_of(sink)
    asyncio.run(operator.snapshot_state(1))
    asyncio.run(operator.snapshot_state(2))
    asyncio.run(operator.notify_checkpoint_complete(1))
    asyncio.run(operator.close())
    assert sink.take()[-2:] == ["commit t1", "abort t3"]


def test_all_are_tried_and_the_first_failure_is_raised_and_nothing_is_kept() -> None:
    sink = Recorded()
    operator = operator_of(sink)
    for number in (1, 2, 3):
        asyncio.run(operator.snapshot_state(number))
    sink.broken = {"t1", "t2"}
    with pytest.raises(ConnectionError, match="t1"):
        asyncio.run(operator.notify_checkpoint_complete(3))
    assert sink.take()[-3:] == ["commit t1", "commit t2", "commit t3"]
    asyncio.run(operator.notify_checkpoint_complete(4))
    assert sink.take() == []


def test_a_restore_commits_what_was_pre_committed() -> None:
    sink = Recorded()
    operator_of(sink, [(("old-2", 0), [("old-1", 0)], None), (None, [("old-0", 0)], "user")])
    assert sink.take() == ["commit old-1", "abort old-2", "commit old-0"]


def test_a_lost_transaction_may_be_ignored_when_it_is_too_old() -> None:
    for age_ms, is_ignored in ((50, False), (150, True)):
        sink = Recorded()
        sink.broken, sink.transaction_timeout_ms = {"old"}, 100
        sink.ignore_failures_after_timeout = True
        state = [(None, [("old", 0)], None)]
        if is_ignored:
            operator_of(sink, state, age_ms)
        else:
            with pytest.raises(ConnectionError):
                operator_of(sink, state, age_ms)


# -- redistribution ------------------------------------------------------------------------------------------


def blob(name: str) -> Blob:
    return Blob(name, 0, 1, 0)


def state_of(lists: dict[int, list[str]], mode: ListMode, finished: Sequence[int] = ()) -> OperatorState:
    state = OperatorState("o", "o", "o", 3, 8, finished=set(finished))
    for index, names in lists.items():
        state.subtasks[index] = SubtaskState({}, {"l": ListState(mode, tuple(map(blob, names)))})
    return state


def shares(state: OperatorState, parallelism: int) -> list[str]:
    parts = redistribute(state, parallelism, 8)
    return ["".join(b.path for b in part.lists["l"].elements) if "l" in part.lists else "-" for part in parts]


def test_lists_are_shared_out_by_their_kind() -> None:
    lists = {0: ["a", "b"], 1: ["c"], 2: ["d", "e"]}
    assert shares(state_of(lists, ListMode.SPLIT), 3) == ["ab", "c", "de"]
    assert shares(state_of(lists, ListMode.SPLIT), 2) == ["abc", "de"]
    assert shares(state_of(lists, ListMode.SPLIT), 7) == ["a", "b", "c", "d", "e", "", ""]
    assert shares(state_of(lists, ListMode.UNION), 2) == ["abcde", "abcde"]


def test_after_some_have_finished_the_rest_stays_or_is_shared_out_among_another_number() -> None:
    rest = {1: ["c", "d", "e"]}
    assert shares(state_of(rest, ListMode.SPLIT, [0, 2]), 3) == ["-", "cde", "-"]
    assert shares(state_of(rest, ListMode.SPLIT, [0, 2]), 2) == ["cd", "e"]
    assert shares(state_of(rest, ListMode.BROADCAST, [0, 2]), 3) == ["cde", "cde", "cde"]


def test_keyed_state_goes_with_its_key_groups() -> None:
    state = OperatorState("o", "o", "o", 2, 8)
    for index in range(2):
        groups = {g: blob(f"g{g}") for g in key_group_range(8, 2, index)}
        state.subtasks[index] = SubtaskState(groups, {})
    for parallelism in range(1, 9):
        parts = redistribute(state, parallelism, 8)
        for index, part in enumerate(parts):
            assert all(owner_of(g, 8, parallelism) == index for g in part.keyed)
        assert sorted(g for part in parts for g in part.keyed) == list(range(8))
    with pytest.raises(RestoreError, match="8 key groups, the job 16"):
        redistribute(state, 2, 16)


def test_equal_keys_have_equal_groups_in_every_process() -> None:
    assert key_group(1, 128) == key_group(1.0, 128) == key_group(True, 128)
    assert [key_group(k, 128) for k in ("a", 7, None, ("a", 7), b"a", 1.5)] == [114, 127, 11, 63, 58, 70]
    with pytest.raises(BadInputError, match="a key is"):
        key_group(["a"], 128)


def test_state_is_plain_and_reads_no_code() -> None:
    value = {"a": [1, (2.5, None)], b"b": {True}}
    assert plain.from_bytes(plain.to_bytes(value)) == value
    with pytest.raises(BadInputError, match="cannot go into a checkpoint"):
        plain.to_bytes({"a": object()})
    import pickle

    with pytest.raises(DamagedCheckpointError, match="names code"):
        plain.from_bytes(pickle.dumps(print))
    with pytest.raises(DamagedCheckpointError):
        plain.from_bytes(b"nothing")


# -- the global committer ------------------------------------------------------------------------------------


class _Numbers(SinkWriter):
    def __init__(self) -> None:
        self._rows: list[int] = []

    def write(self, batch: Batch) -> None:
        self._rows += [row["n"] for row in batch.rows]

    def prepare_commit(self) -> list[int]:
        rows, self._rows = self._rows, []
        return rows


class _Global(GlobalCommitter):
    def __init__(self, into: list[list[int]]) -> None:
        self._into = into

    def combine(self, committables: Sequence[Any]) -> list[int]:
        return sorted(committables)

    def commit(self, combined: Sequence[Any]) -> list[Any]:
        self._into += combined
        return []


class GlobalSink(Sink):
    def __init__(self) -> None:
        self.committed: list[list[int]] = []

    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> SinkWriter:
        return _Numbers()

    def create_global_committer(self) -> GlobalCommitter:
        return _Global(self.committed)


def test_one_global_committer_for_all_writers() -> None:
    env, sink = StreamEnvironment(parallelism=3), GlobalSink()
    env.from_rows([{"n": n} for n in range(50)], splits=5, batch_rows=3).sink_to(sink)
    Virtual().finish(env)
    assert sorted(n for numbers in sink.committed for n in numbers) == list(range(50))


class _Taker(Committer):
    def __init__(self, into: list[int]) -> None:
        self._into, self._has_refused = into, False

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            if not self._has_refused:
                self._has_refused = True
                request.retry_later()
            elif request.committable == 7:
                request.signal_failed_with_known_reason("seven")
            else:
                self._into.append(request.committable)


class CommittingSink(Sink):
    def __init__(self) -> None:
        self.committed: list[int] = []

    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> SinkWriter:
        return _Numbers()

    def create_committer(self, context: SinkContext) -> Committer:
        return _Taker(self.committed)


def test_a_committer_tells_what_waits_and_what_it_committed() -> None:
    env, sink, virtual = StreamEnvironment(), CommittingSink(), Virtual()
    env.from_rows([{"n": n} for n in range(20)], batch_rows=3).sink_to(sink)
    virtual.finish(env)
    assert sorted(sink.committed) == [n for n in range(20) if n != 7]
    by_writer, trays = _by_role(virtual.told.of(seen.SinkTrays))
    assert max(len(tray.pre_committed) for tray in trays) == 20
    assert (trays[-1].pre_committed, trays[-1].committed) == ((), 19)
    assert [tray.open for tray in by_writer] == [("since the start",), ()]


def _by_role(trays: Sequence[seen.SinkTrays]) -> tuple[list[seen.SinkTrays], list[seen.SinkTrays]]:
    """Those of the writer, which alone has something open, and those of committers."""
    writer = next(tray.operator for tray in trays if tray.open)
    return [t for t in trays if t.operator == writer], [t for t in trays if t.operator != writer]


def test_a_writer_has_one_open_tray_from_checkpoint_to_checkpoint() -> None:
    env, sink, virtual = StreamEnvironment(), CommittingSink(), Virtual()
    rows = [{"n": n} for n in range(60)]
    env.from_source(RowsSource(rows, batch_rows=3, pause_ms=lambda: 20)).sink_to(sink)
    virtual.finish(env)
    by_writer, _ = _by_role(virtual.told.of(seen.SinkTrays))
    done = [o.checkpoint_id for o in virtual.told.of(seen.CheckpointCompleted)]
    names = [tray.open for tray in by_writer]
    assert names[0] == ("since the start",)
    assert names[1:3] == [(f"since checkpoint {n}",) for n in done[:2]]
    assert names[-1] == ()
    assert all((tray.pre_committed, tray.committed) == ((), 0) for tray in by_writer)


def test_a_global_committer_tells_its_trays_too() -> None:
    env, sink, virtual = StreamEnvironment(), GlobalSink(), Virtual()
    env.from_rows([{"n": n} for n in range(20)], batch_rows=3).sink_to(sink)
    virtual.finish(env)
    _, trays = _by_role(virtual.told.of(seen.SinkTrays))
    assert max(len(tray.pre_committed) for tray in trays) == 20
    assert (trays[-1].pre_committed, trays[-1].committed) == ((), len(sink.committed))


class _Away(Committer):
    """A committer whose store never answers."""

    def __init__(self, calls: list[int]) -> None:
        self._calls = calls

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        self._calls.append(len(requests))
        for request in requests:
            request.retry_later()


class AwaySink(CommittingSink):
    def create_committer(self, context: SinkContext) -> Committer:
        return _Away(self.committed)


def test_a_committable_is_tried_once_a_second_and_with_each_checkpoint() -> None:
    env, sink, virtual = StreamEnvironment(), AwaySink(), Virtual()
    endless = RowsSource([{"n": 1}], boundedness=Boundedness.CONTINUOUS_UNBOUNDED)
    env.from_source(endless).sink_to(sink)

    async def story() -> None:
        job = virtual.job(env)  # a checkpoint every 100 ms
        await job.start()
        await asyncio.sleep(20)
        await job.cancel()

    virtual.run(story)
    done = len(virtual.told.of(seen.CheckpointCompleted))
    assert done > 150
    # With each checkpoint it is tried when the writer announces committables and at its completion.
    assert 2 * done <= len(sink.committed) <= 2 * done + 20
