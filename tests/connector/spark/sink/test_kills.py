"""A real driver, Python and JVM, killed at each point of a commit, its workers killed, its leases run out.

A proxy withholds the store's reply (or the driver's request), so the kill happens exactly at that point.
Afterwards the output must be the input, once each, in order per key.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pravega_lab.client import Client, ScalingPolicy, Stream, TransactionState, connect
from pravega_lab.connector.spark import Driver, submit
from pravega_lab.connector.spark.sink.register import Record
from pravega_lab.connector.tables.catalog import REGISTER_TABLE
from pravega_lab.testing import StoreProxy

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

JOB = Path(__file__).parents[1] / "jobs" / "copy_stream.py"
RUN_S_MAX = 240.0
#: Large enough that a batch of 10 MB is read and written by two tasks, which gives two transactions.
EVENT_BYTES = 40_000
EVENTS = 700


@pytest.fixture
def proxy(store: str) -> Iterator[StoreProxy]:
    with StoreProxy(store) as proxy:
        yield proxy


class Copy:
    """The job, its streams, and what they hold. The test talks to the store directly, the job through the
    proxy.
    """

    def __init__(self, client: Client, proxy: StoreProxy, scope: str, folder: Path) -> None:
        self.client, self.proxy, self.scope = client, proxy, scope
        self._folder = folder
        self.source = client.create_stream(f"{scope}/in", scaling=ScalingPolicy.fixed(2))
        self.target = client.create_stream(f"{scope}/out", scaling=ScalingPolicy.fixed(2))
        keys = [f"k{i % 20}" for i in range(EVENTS)]
        self.source.write([f"{key}:{i}:".ljust(EVENT_BYTES, "x") for i, key in enumerate(keys)], keys)

    def submit(self, *more: str, master: str = "local[2]") -> Driver:
        arguments = [self.proxy.uri, self.scope, str(self._folder / "checkpoint"), master, *more]
        return submit(JOB, *arguments, progress_file=self._folder / "progress.jsonl")

    def record(self) -> Record:
        [found] = self.client.table(f"{self.scope}/{REGISTER_TABLE}").items().values()
        return Record.from_bytes(found.value)

    def states(self) -> list[TransactionState]:
        return [self.target.transaction(txn).state() for txn in self.record().transactions]

    def wait_states(self, *wanted: TransactionState) -> None:
        deadline = time.monotonic() + 60
        while sorted(s.name for s in self.states()) != sorted(s.name for s in wanted):
            assert time.monotonic() < deadline, self.states()
            time.sleep(0.1)

    def assert_complete(self) -> None:
        assert numbers_by_key(self.target) == numbers_by_key(self.source)


def numbers_by_key(stream: Stream) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    with stream.read() as batches:
        for batch in batches:
            for event in batch.column("event").to_pylist():
                key, number, rest = event.decode().split(":")
                assert len(event) == EVENT_BYTES
                assert not rest.strip("x")
                found.setdefault(key, []).append(int(number))
    return dict(sorted(found.items()))


@pytest.fixture
def copy(store: str, proxy: StoreProxy, scope_name: Callable[[], str], tmp_path: Path) -> Iterator[Copy]:
    with connect(store) as client:
        yield Copy(client, proxy, scope_name(), tmp_path)


def finish(driver: Driver) -> None:
    assert driver.wait(RUN_S_MAX) == 0, driver.log()[-3000:]


def kill_when_held(driver: Driver, proxy: StoreProxy) -> None:
    """Kill Python and JVM; Spark's workers, which end a moment later, get no answer in that moment either."""
    proxy.wait_held()
    family = psutil.Process(driver.pid).children(recursive=True)
    driver.kill()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not alive
    proxy.release(drop=True)


def test_killed_at_each_point_of_a_commit(copy: Copy) -> None:
    """One batch, whose commit is killed four times, each time a step further."""
    proxy = copy.proxy
    proxy.hold("TableRead")
    with copy.submit() as driver:
        kill_when_held(driver, proxy)  # before the decision is recorded
        assert copy.client.table(f"{copy.scope}/{REGISTER_TABLE}").items() == {}

        proxy.hold("TableEntriesUpdated")
        driver.start()
        kill_when_held(driver, proxy)  # after it, before the commits
        assert not copy.record().done
        assert copy.states() == [TransactionState.OPEN] * 2

        proxy.hold("commitTransaction", nth=2, what="request")
        driver.start()
        kill_when_held(driver, proxy)  # between two commits
        copy.wait_states(TransactionState.COMMITTED, TransactionState.OPEN)

        proxy.hold("TableEntriesUpdated")
        driver.start()
        kill_when_held(driver, proxy)  # after the commits, before Spark's own commit log
        assert copy.record().done
        assert not list((Path(copy._folder) / "checkpoint" / "commits").glob("[0-9]*"))

        driver.start()
        finish(driver)
        batches = [progress["batchId"] for progress in driver.progress() if progress["numInputRows"]]
        assert batches == sorted(batches)
        assert len(batches) > 2
        assert driver.runs == 5
    copy.assert_complete()


def test_an_outage_longer_than_the_lease(copy: Copy) -> None:
    """Once with nothing committed, once with half of it."""
    proxy = copy.proxy
    proxy.hold("TableEntriesUpdated")
    with copy.submit("transaction_timeout_ms=10000") as driver:
        kill_when_held(driver, proxy)
        first = copy.record().transactions
        copy.wait_states(TransactionState.ABORTED, TransactionState.ABORTED)

        proxy.hold("commitTransaction", nth=2, what="request")
        driver.start()
        kill_when_held(driver, proxy)
        second = copy.record().transactions
        assert not set(first) & set(second)
        copy.wait_states(TransactionState.COMMITTED, TransactionState.ABORTED)

        driver.start()
        finish(driver)
    copy.assert_complete()


def test_a_worker_killed_in_the_middle_of_its_task(copy: Copy) -> None:
    copy.proxy.hold("DataAppended", nth=3)
    with copy.submit(master="local[2,4]") as driver:
        port = copy.proxy.wait_held().peer_port
        worker = process_with_port(driver, port)
        worker.send_signal(signal.SIGKILL)
        copy.proxy.release(drop=True)
        finish(driver)
        assert driver.runs == 1
    copy.assert_complete()


def test_an_old_jvm_that_wakes_up_as_a_zombie(copy: Copy) -> None:
    """The old driver, except its Python process, is stopped before its decision and resumes after its
    successor is done.
    """
    proxy = copy.proxy
    proxy.hold("TableRead")
    old = copy.submit()
    committer = process_with_port(old, proxy.wait_held().peer_port)
    zombies = psutil.Process(old.pid).children(recursive=True)
    for zombie in zombies:
        zombie.suspend()
    assert old.pid is not None
    psutil.Process(old.pid).kill()
    try:
        with copy.submit() as driver:
            finish(driver)
        copy.assert_complete()
        refused, aborted = proxy.seen.get("TableKeyBadVersion", 0), proxy.seen.get("abortTransaction", 0)
        committer.resume()
        proxy.release()
        proxy.wait_seen("TableKeyBadVersion", refused + 1)  # it wanted to record its own transactions
        proxy.wait_seen("abortTransaction", aborted + 1)
        for zombie in zombies:
            zombie.resume()
        _, alive = psutil.wait_procs(zombies, timeout=60)
        assert not alive
    finally:
        for zombie in zombies:
            if zombie.is_running():
                zombie.kill()
        old.kill()
    copy.assert_complete()


def process_with_port(driver: Driver, port: int | None) -> psutil.Process:
    """The process of a driver's family whose connection comes from ``port``."""
    for process in psutil.Process(driver.pid).children(recursive=True):
        try:
            ports = [
                connection.laddr.port for connection in process.net_connections("tcp") if connection.laddr
            ]
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if port in ports:
            return process
    raise AssertionError(f"nobody has port {port}")
