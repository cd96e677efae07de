"""(e) bounded reads; (f) writers of every kind, order by event time, watermarks; (g) metrics."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from pravega_lab.client.values import LEASE_MS_MIN
from pravega_lab.client.writing.transaction import AsyncTransaction
from pravega_lab.connector.flow import (
    Delivery,
    GroupSettings,
    PravegaBatchSource,
    PravegaConfig,
    PravegaEventSink,
    PravegaSegmentSource,
    PravegaSource,
    PravegaTransactionalSink,
    PravegaWriter,
    RowEvents,
    reader_metrics,
    write_in_event_time_order,
)
from pravega_lab.connector.flow.sinks import transactional_sink
from pravega_lab.connector.flow.sinks.transactional_sink import Transactions
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.calling import value_of
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.errors import IllegalStateError, JobFailedError, LostTransactionError
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import NoRestart
from pravega_lab.engine.flow.sink.sinks import CommitOutcome, CommitRequest, Sink
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.engine.store.errors import StoreFull
from pravega_lab.engine.store.metadata.catalog import StreamEntry
from pravega_lab.engine.store.transactions.transactions import Transactions as StoreTransactions
from pravega_lab.errors import BadInputError, StoreUnavailableError, TransactionFailedError
from pravega_lab.testing.simulated import SimulatedPravega
from tests.connector.flow.jobs import (
    EVENTS,
    OUT,
    ROWS,
    config_of,
    copying,
    job_of,
    numbered,
    read,
    streams,
    until,
    write,
)

ONE = pytest.mark.pravega_seeds("0")


def test_a_bounded_read_has_every_row_once(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        config = config_of(world)
        async with world.client() as client:
            into, out = await streams(client, 3)
            await write(into, numbered(0, 100))
            await into.split(1)
            await write(into, numbered(100, 200))
            source = PravegaBatchSource(config, "in", rows=ROWS, batch_bytes=200)
            job = job_of(world, copying(config, source, readers=2))
            await job.start()
            await asyncio.sleep(0.05)
            job.fail_subtask(SubtaskId("source", 0), RuntimeError("dies"))
            await write(into, numbered(200, 220))
            await job.wait()
            rows = await read(out)
        found = sorted(row["n"] for row in rows)
        assert found[:200] == list(range(200))
        assert len(found) == len(set(found)), "events written during the read come at most once"

    world.run(story())


@ONE
def test_a_bounded_read_keeps_order_if_it_is_asked_to(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        config = config_of(world)
        async with world.client() as client:
            into, out = await streams(client, 2)
            await write(into, numbered(0, 60))
            begin = await into.tail()
            await into.merge([0, 1])
            await write(into, numbered(60, 120))
            end = await into.tail()
            await write(into, numbered(120, 140))
            source = PravegaSegmentSource(config, "in", start=begin, end=end, rows=ROWS, batch_bytes=200)
            job = job_of(world, copying(config, source))
            await job.start()
            await job.wait()
            assert sorted(row["n"] for row in await read(out)) == list(range(60, 120))

    world.run(story())


@pytest.mark.parametrize("kind", ["at-least-once", "best-effort", "transactions"])
def test_sinks_of_the_new_form(pravega_simulation: SimulatedPravega, kind: str) -> None:
    world = pravega_simulation

    async def story() -> None:
        config = config_of(world)
        sink: Sink = (
            PravegaTransactionalSink(config, OUT, events=EVENTS)
            if kind == "transactions"
            else PravegaEventSink(config, OUT, events=EVENTS, delivery=Delivery(kind))
        )
        env = StreamEnvironment("copy", parallelism=2)
        env.from_source(PravegaSegmentSource(config, "in", rows=ROWS, batch_bytes=200)).sink_to(sink)
        async with world.client() as client:
            into, out = await streams(client, 2)
            job = job_of(world, env.job_graph())
            await job.start()
            await write(into, numbered(0, 60))
            await asyncio.sleep(0.5)
            vertex = next(iter(job.master.executions)).vertex
            job.fail_subtask(SubtaskId(vertex, 0), RuntimeError("dies"))
            await write(into, numbered(60, 120))
            await asyncio.sleep(3)
            counts = Counter(row["n"] for row in await read(out))
            await job.cancel()
        if kind == "transactions":
            assert counts == Counter(range(120))
        else:
            assert isinstance(sink, PravegaEventSink)
            assert set(counts) == set(range(120))
            assert sink.counters.metrics()["numRecordsOut"] == counts.total()
            assert sink.counters.num_records_out_errors == 0

    world.run(story())


@ONE
def test_a_lease_is_renewed_while_somebody_lives_and_its_end_is_told_in_words(
    pravega_simulation: SimulatedPravega,
) -> None:
    world = pravega_simulation
    lease_ms = LEASE_MS_MIN

    async def story() -> None:
        async with world.client() as client:
            _, out = await streams(client)
            first = Transactions(world.client("first"), OUT, lease_ms, "w")
            kept, left = await first.begin(), await first.begin()
            for txn_id, n in ((kept, 1), (left, 2)):
                await first.write(txn_id, [json.dumps({"k": "k", "n": n}).encode()], ["k"])
                await first.flush(txn_id)
            await asyncio.sleep(3 * lease_ms / 1000)
            await first.commit(first.handle(kept, None))
            await first.commit(first.handle(kept, None))  # again, as after a failure
            await first.close()  # as if it had died with the other one pre-committed
            await asyncio.sleep(3 * lease_ms / 1000)
            second = Transactions(world.client("second"), OUT, lease_ms, "w")
            with pytest.raises(TransactionFailedError, match="Its data is lost: the lease"):
                await second.commit([left, None, "w"])
            await second.abort(left)
            await second.close()
            assert [row["n"] for row in await read(out)] == [1]

    world.run(story())


EXACTLY_ONCE = pytest.mark.parametrize("sink", [PravegaWriter, PravegaTransactionalSink])


@ONE
@EXACTLY_ONCE
def test_an_old_savepoint_is_resumed_without_what_the_store_has_forgotten(
    pravega_simulation: SimulatedPravega, sink: type[PravegaWriter | PravegaTransactionalSink]
) -> None:
    world = pravega_simulation
    config = config_of(world)

    def graph(skips_forgotten: bool, uid: str = "sink") -> JobGraph:
        env = StreamEnvironment("copy")
        rows = env.from_source(PravegaSegmentSource(config, "in", rows=ROWS), uid="source")
        rows.sink_to(sink(config, OUT, events=EVENTS, skips_forgotten=skips_forgotten), uid=uid)
        return env.job_graph()

    async def story() -> None:
        files = MemoryFiles()
        async with world.client() as client:
            into, out = await streams(client)
            await write(into, numbered(0, 20))
            first = job_of(world, graph(False), files=files, interval_ms=60_000)
            await first.start()
            await asyncio.sleep(1)  # everything is read, and is in the transaction of the savepoint
            path = await first.stop_with_savepoint("savepoint", drain=False)
            assert len(await until(out, 20)) == 20
            await write(into, numbered(20, 40))
            await asyncio.sleep(25 * 3600)
            refused = job_of(world, graph(False), files=files, restore_from=path)
            await refused.start()
            with pytest.raises(JobFailedError) as raised:
                await asyncio.wait_for(refused.wait(), 60)  # it used to restart for ever
            assert "UNKNOWN" in str(raised.value.__cause__)
            assert "skips_forgotten=True" in str(raised.value.__cause__)
            assert len(await read(out)) == 20
            again = job_of(world, graph(True), files=files, restore_from=path)
            await again.start()
            await until(out, 40)
            path = await again.stop_with_savepoint("savepoint/2", drain=False)
            await write(into, numbered(40, 60))
            await asyncio.sleep(25 * 3600)
            other = graph(False, uid="another sink")
            last = job_of(world, other, files=files, restore_from=path, allow_non_restored_state=True)
            await last.start()
            await until(out, 60)
            await last.cancel()
            assert [row["n"] for row in await read(out)] == list(range(60))

    with pytest.raises(AssertionError, match=r"the run ended, but not well: logged: .* is UNKNOWN"):
        world.run(story())


@ONE
@EXACTLY_ONCE
def test_a_transaction_whose_lease_ran_out_is_never_left_out(
    pravega_simulation: SimulatedPravega, sink: type[PravegaWriter | PravegaTransactionalSink]
) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            await streams(client)
            transactions = Transactions(world.client("writer"), OUT, LEASE_MS_MIN, "w")
            handle = transactions.handle(await transactions.begin(), None)
            await transactions.close()
            await asyncio.sleep(3 * LEASE_MS_MIN / 1000)
            made = sink(config_of(world), OUT, events=EVENTS, skips_forgotten=True)
            if isinstance(made, PravegaWriter):
                made.open(Subtask())
                with pytest.raises(LostTransactionError, match="ABORTED"):
                    await made.recover_and_commit(handle)
                await made.close()
            else:
                committer, request = made.create_committer(Subtask()), CommitRequest(handle)
                with pytest.raises(LostTransactionError, match="ABORTED"):
                    await value_of(committer.commit([request]))
                await value_of(committer.close())

    world.run(story())


@ONE
@EXACTLY_ONCE
def test_a_commit_counts_when_its_events_can_be_read(
    pravega_simulation: SimulatedPravega,
    monkeypatch: pytest.MonkeyPatch,
    sink: type[PravegaWriter | PravegaTransactionalSink],
) -> None:
    """The store accepts commits and does not carry them out, as while its disk is full, or for good."""
    world = pravega_simulation
    is_stuck = True
    right = StoreTransactions._commit_batch

    def commit_batch(self: StoreTransactions, stream: StreamEntry, now_ms: int) -> None:
        if is_stuck and stream.scoped_name == OUT:
            raise StoreFull("no room for a merge")
        right(self, stream, now_ms)

    monkeypatch.setattr(StoreTransactions, "_commit_batch", commit_batch)
    monkeypatch.setattr(transactional_sink, "COMMITTED_S_MAX", 5.0)

    async def story() -> None:
        nonlocal is_stuck
        config, files = config_of(world), MemoryFiles()
        env = StreamEnvironment("copy")
        rows = env.from_source(PravegaSegmentSource(config, "in", rows=ROWS), uid="source")
        rows.sink_to(sink(config, OUT, events=EVENTS), uid="sink")
        async with world.client() as client:
            into, out = await streams(client)
            await write(into, numbered(0, 20))
            job = job_of(world, env.job_graph(), files=files, restart=NoRestart())
            await job.start()
            await write(into, numbered(20, 40))
            with pytest.raises(JobFailedError) as raised:
                await asyncio.wait_for(job.wait(), 60)
            assert "is not COMMITTED 5 s after" in str(raised.value.__cause__)
            assert "an older savepoint" in str(raised.value.__cause__)
            assert await read(out) == []
            assert job.latest_checkpoint is not None
            again = job_of(world, env.job_graph(), files=files, restore_from=job.latest_checkpoint.path)
            await again.start()
            await asyncio.sleep(12)  # it fails and restarts
            is_stuck = False
            found = await until(out, 40)
            await again.cancel()
            assert sorted(row["n"] for row in found) == list(range(40))

    world.run(story())


@ONE
def test_a_store_that_cannot_be_asked_for_the_end_of_a_commit_is_asked_again(
    pravega_simulation: SimulatedPravega, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = pravega_simulation
    sink = PravegaTransactionalSink(config_of(world), OUT, events=EVENTS)

    async def unreachable(*_: Any, **__: Any) -> None:
        raise StoreUnavailableError("no answer")

    async def story() -> None:
        async with world.client() as client:
            _, out = await streams(client)
            writer, committer = sink.create_writer(Subtask(), []), sink.create_committer(Subtask())
            await value_of(writer.write(Batch.of_rows(numbered(0, 5))))
            request = CommitRequest(*await value_of(writer.prepare_commit()))
            with monkeypatch.context() as broken:
                broken.setattr(AsyncTransaction, "state", unreachable)
                await value_of(committer.commit([request]))
            assert request.outcome is CommitOutcome.RETRY_LATER
            request.outcome = CommitOutcome.OK
            await value_of(committer.commit([request]))
            assert request.outcome is CommitOutcome.OK
            await value_of(writer.close())
            await value_of(committer.close())
            assert [row["n"] for row in await read(out)] == list(range(5))

    world.run(story())


class Subtask:
    """A `SinkContext`."""

    subtask_index, parallelism, task_name, is_checkpointing = 0, 1, "sink[0]#0", True

    def now_ms(self) -> int:
        return 0

    def unique_id(self) -> str:
        return "w"


@ONE
def test_the_writer_keeps_nothing_of_transactions_that_a_committer_has_committed(
    pravega_simulation: SimulatedPravega,
) -> None:
    world = pravega_simulation
    sink = PravegaTransactionalSink(config_of(world), OUT, events=EVENTS, lease_ms=LEASE_MS_MIN)

    async def story() -> None:
        async with world.client() as client:
            _, out = await streams(client)
            writer, committer = sink.create_writer(Subtask(), []), sink.create_committer(Subtask())

            async def committed(n: int, wait_s: float) -> int:
                await value_of(writer.write(Batch.of_rows(numbered(n, n + 1))))
                [handle] = await value_of(writer.prepare_commit())
                await asyncio.sleep(wait_s)
                await value_of(committer.commit([CommitRequest(handle)]))
                await asyncio.sleep(LEASE_MS_MIN / 1000)  # until the lease would be renewed
                return len(asyncio.all_tasks())

            first = await committed(0, 3 * LEASE_MS_MIN / 1000)  # its lease is renewed until the commit
            for n in range(1, 10):
                assert await committed(n, 0.0) <= first
            await value_of(writer.close())
            await value_of(committer.close())
            assert [row["n"] for row in await read(out)] == list(range(10))

    world.run(story())


@ONE
def test_the_writer_wants_checkpoints(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        config = config_of(world)
        source = PravegaBatchSource(config, "in", rows=ROWS)
        async with world.client() as client:
            await streams(client)
            job = Job(copying(config, source), JobConfig(checkpoints=None), files=MemoryFiles())
            await job.start()
            with pytest.raises(JobFailedError) as raised:
                await job.wait()
            assert isinstance(raised.value.__cause__, IllegalStateError)
            assert "Enable checkpointing" in str(raised.value.__cause__)

    world.run(story())


@ONE
def test_rows_leave_in_the_order_of_their_times(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation
    times = [30, 10, 20, 20, 60, 40, 50, 100, 90, 200]

    async def story() -> None:
        config = config_of(world)
        env = StreamEnvironment("order")
        strategy = WatermarkStrategy("at", out_of_orderness_ms=30)
        rows = env.from_source(PravegaSegmentSource(config, "in", rows=ROWS, batch_bytes=30), strategy)
        write_in_event_time_order(rows, PravegaWriter(config, OUT, events=EVENTS), uid="out")
        async with world.client() as client:
            into, out = await streams(client)
            await write(into, [{"k": "k", "n": n, "at": at} for n, at in enumerate(times)])
            job = job_of(world, env.job_graph())
            await job.start()
            found = await until(out, 9)
            await job.cancel()
        assert [row["at"] for row in found] == sorted(times)[:9], "200 waits for its watermark"
        assert [row["n"] for row in found if row["at"] == 20] == [2, 3]

    world.run(story())


def test_order_by_time_wants_a_key() -> None:
    env = StreamEnvironment("order")
    rows = env.from_rows([{"k": "k"}])
    sink = PravegaWriter(PravegaConfig(default_scope="s"), "out", events=RowEvents())
    with pytest.raises(BadInputError, match="routing key"):
        write_in_event_time_order(rows, sink)


@ONE
def test_commits_note_the_watermark_for_readers(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        config = config_of(world)
        env = StreamEnvironment("times")
        rows = env.from_source(
            PravegaSegmentSource(config, "in", rows=ROWS), WatermarkStrategy("n", out_of_orderness_ms=0)
        )
        rows.sink_to(PravegaWriter(config, OUT, events=EVENTS, propagates_watermarks=True))
        async with world.client() as client:
            into, out = await streams(client)
            job = job_of(world, env.job_graph())
            await job.start()
            for first in range(0, 400, 20):
                await write(into, numbered(first, first + 20))
                await asyncio.sleep(1)
            await until(out, 400)
            await job.cancel()
            settings = GroupSettings(config, "times", [OUT], automatic_checkpoint_ms=1_000)
            group = config.group(client, settings.scoped_group)
            await group.create(settings.to_config())
            async with await group.create_reader("r") as reader:
                window, seen = None, -1
                while seen < 350:
                    event = (await reader.read_next(1.0)).event
                    if event is not None:
                        seen = json.loads(event)["n"]
                        window = await reader.time_window(OUT)
                        assert window.lower is None or window.lower <= seen + 20
            await group.close()
            assert window is not None
            assert window.lower is not None

    world.run(story())


@ONE
def test_metrics_of_a_running_group(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        config = config_of(world)
        settings = GroupSettings(config, "group", ["in"], refresh_ms=100, read_timeout_ms=100)
        async with world.client() as client:
            into, out = await streams(client, 2)
            job = job_of(world, copying(config, PravegaSource(settings, rows=ROWS)))
            await job.start()
            await write(into, numbered(0, 40))
            await until(out, 40)
            await asyncio.sleep(1)
            group = config.group(client, settings.scoped_group)
            found = await reader_metrics(group)
            await group.close()
            await job.cancel()
        name = "PravegaReader.readerGroup"
        assert found[f"{name}.unreadBytes"] == 0
        assert found[f"{name}.scope"] == "test"
        assert found[f"{name}.readerGroupName"] == "group"
        assert sorted(str(found[f"{name}.onlineReaders"]).split(",")) == ["source-0-0", "source-1-0"]
        assert found[f"{name}.streams"] == "test/in"
        assert str(found[f"{name}.stream.test_in.segmentPositions"]).startswith("0=")

    world.run(story())
