"""Whom the driver lets in and believes: strangers, workers of an older epoch, workers that do not come."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pravega_lab.engine.cluster.cluster_job import ClusterJob
from pravega_lab.engine.cluster.driver.driver import Driver
from pravega_lab.engine.cluster.driver.placement import WorkerSpec, worker_of
from pravega_lab.engine.cluster.errors import NotEnoughSlotsError, WorkerLostError, WorkersNotStartedError
from pravega_lab.engine.cluster.processes import ProcessJob
from pravega_lab.engine.cluster.spark import SparkJob
from pravega_lab.engine.cluster.wire import values
from pravega_lab.engine.cluster.wire.frames import NONCE_BYTES, Frame, FrameReader, Hello, Kind, encode
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint.plan import TaskAck
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.observer import NoObserver
from pravega_lab.engine.flow.task.deployment import Deployer
from pravega_lab.errors import BadInputError
from tests.engine.cluster.jobs import config, words


class ByHand:
    """A `Launcher` that starts nothing: the test speaks for the workers."""

    few, late = "", "nobody starts them"

    def __init__(self, slots: int = 4, *, may_grow: bool = False) -> None:
        self._slots, self._may_grow = slots, may_grow
        self.specs: list[WorkerSpec] = []
        self.on_end: Callable[[str], None] = lambda _why: None
        self.stopped = 0

    def default_host(self) -> str:
        return "127.0.0.1"

    def slots(self) -> int:
        return self._slots

    def may_grow(self) -> bool:
        return self._may_grow

    def launch(self, spec: WorkerSpec, on_end: Callable[[str], None]) -> ByHand:
        self.specs.append(spec)
        self.on_end = on_end
        return self

    async def stop(self) -> None:
        self.stopped += 1


class Heard:
    """A gateway that keeps what it was told."""

    def __init__(self) -> None:
        self.acks: list[Any] = []

    def acknowledge(self, *args: Any) -> None:
        self.acks.append(args)


class Connection:
    """A socket to the driver."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer, self._frames = reader, writer, FrameReader()
        self._frames.greeted()
        self._came: list[Frame] = []
        self.challenge = b""

    @staticmethod
    async def of(spec: WorkerSpec) -> Connection:
        connection = Connection(*await asyncio.open_connection(spec.host, spec.port))
        challenge = await connection.next_frame()
        assert challenge is not None
        assert challenge.kind is Kind.CHALLENGE
        connection.challenge = bytes(challenge.body)
        return connection

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    def hello(self, spec: WorkerSpec, worker: int = 0) -> None:
        hello = Hello(spec.epoch, worker, 1, 1, "127.0.0.1")
        self.send(hello.encode(spec.token, self.challenge, bytes(NONCE_BYTES)))

    def call(self, *args: Any) -> None:
        self.send(encode(Kind.CALL, values.to_bytes(args)))

    async def next_frame(self) -> Frame | None:
        """None: the driver has closed it."""
        while not self._came:
            try:
                data = await self._reader.read(1000)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._came += self._frames.feed(data)
        return self._came.pop(0)

    async def next_call(self) -> Any:
        """None: the driver has closed it."""
        while (frame := await self.next_frame()) is not None:
            if frame.kind is not Kind.WELCOME:
                return values.from_bytes(frame.body)
        return None


def story(tmp_path: Path, tell: Callable[[Driver, ByHand, Heard], Awaitable[None]], workers: int = 1) -> None:
    async def run() -> None:
        launcher, heard = ByHand(), Heard()
        driver = Driver(
            launcher, workers, config(tmp_path), host="127.0.0.1", start_timeout_s=30, cancel_timeout_s=5
        )
        base: Any = type("Base", (), {"files": None, "shared_folder": ""})
        gateway: Any = heard
        local = Deployer(
            words(tmp_path, 1),
            None,
            gateway,
            NoObserver(),
            int,
            str,
            1,
            True,
            base,  # type: ignore[arg-type]
        )
        await driver.listen()
        driver.deployer(local)
        try:
            await tell(driver, launcher, heard)
        finally:
            await driver.close()

    asyncio.run(run())


def test_strangers_are_refused_and_the_others_are_let_in(tmp_path: Path) -> None:
    async def tell(driver: Driver, launcher: ByHand, heard: Heard) -> None:
        starting = asyncio.ensure_future(driver.acquire())
        while not launcher.specs:
            await asyncio.sleep(0.01)
        [spec] = launcher.specs
        nonce, heard_before = bytes(NONCE_BYTES), (await Connection.of(spec)).challenge
        strangers: list[Callable[[bytes], bytes]] = [
            lambda challenge: b"GET / HTTP/1.1\r\n\r\n",
            lambda challenge: Hello(spec.epoch, 0, 1, 1, "x").encode(bytes(32), challenge, nonce),
            lambda challenge: Hello(spec.epoch, 7, 1, 1, "x").encode(spec.token, challenge, nonce),
            lambda challenge: Hello(spec.epoch + 1, 0, 1, 1, "x").encode(spec.token, challenge, nonce),
            lambda challenge: Hello(spec.epoch, 0, 1, 1, "x").encode(spec.token, heard_before, nonce),
            lambda challenge: encode(Kind.CALL, values.to_bytes(("ready",))),
        ]
        for stranger in strangers:
            connection = await Connection.of(spec)
            connection.send(stranger(connection.challenge))
            assert await connection.next_call() is None
        worker = await Connection.of(spec)
        worker.hello(spec)
        assert await worker.next_call() == ("peers", [("127.0.0.1", 1)])
        second = await Connection.of(spec)
        second.hello(spec)
        assert await second.next_call() is None  # that worker has come already
        worker.call("ready")
        assert (await starting).number == 1
        assert [info.index for info in driver.workers] == [0]

    story(tmp_path, tell)


def test_a_worker_of_an_older_epoch_is_not_heard(tmp_path: Path) -> None:
    id = SubtaskId("rows", 0)

    async def tell(driver: Driver, launcher: ByHand, heard: Heard) -> None:
        async def begin() -> tuple[Connection, Connection]:
            starting = asyncio.ensure_future(driver.acquire())
            while len(launcher.specs) <= driver.epoch - 1 or len(launcher.specs) == begun:
                await asyncio.sleep(0.01)
            both = []
            for worker in range(2):
                connection = await Connection.of(launcher.specs[-1])
                connection.hello(launcher.specs[-1], worker)
                both.append(connection)
            for connection in both:
                assert (await connection.next_call())[0] == "peers"
                connection.call("ready")
            await starting
            return both[0], both[1]

        begun = 0
        zombie, dies = await begin()
        zombie.call("ack", id, 0, 1, TaskAck())
        while len(heard.acks) < 1:
            await asyncio.sleep(0.01)
        dies._writer.transport.abort()
        assert await zombie.next_call() == ("end",)
        zombie.call("ack", id, 0, 2, TaskAck())  # it does not listen
        begun = 1
        first, _ = await begin()
        with_old = await Connection.of(launcher.specs[0])
        with_old.hello(launcher.specs[0])  # it dials again
        assert await with_old.next_call() is None
        first.call("ack", id, 1, 3, TaskAck())
        while len(heard.acks) < 2:
            await asyncio.sleep(0.01)
        assert [ack[2] for ack in heard.acks] == [1, 3]
        assert launcher.stopped == 1
        assert [spec.epoch for spec in launcher.specs] == [1, 2]

    story(tmp_path, tell, workers=2)


def test_lost_workers_are_stopped_although_the_restart_that_waits_for_them_is_cancelled(
    tmp_path: Path,
) -> None:
    async def tell(driver: Driver, launcher: ByHand, heard: Heard) -> None:
        begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def stop() -> None:
            begun.set()
            await may_end.wait()
            ended.set()

        launcher.stop = stop  # type: ignore[method-assign]
        starting = asyncio.ensure_future(driver.acquire())
        while not launcher.specs:
            await asyncio.sleep(0.01)
        launcher.on_end("killed")
        with pytest.raises(WorkerLostError, match="killed"):
            await starting
        restarting = asyncio.ensure_future(driver.acquire())
        await begun.wait()
        closing = asyncio.ensure_future(driver.close())
        await asyncio.wait([restarting])
        assert restarting.cancelled()
        may_end.set()
        await closing
        assert ended.is_set()

    story(tmp_path, tell, workers=2)


def test_slots_that_are_gone_are_waited_for(tmp_path: Path) -> None:
    async def tell(driver: Driver, launcher: ByHand, heard: Heard) -> None:
        launcher._slots = 1
        starting = asyncio.ensure_future(driver.acquire())
        await asyncio.sleep(0.5)
        assert launcher.specs == []
        launcher._slots = 2
        while not launcher.specs:
            await asyncio.sleep(0.01)
        launcher.on_end("Spark says no")
        with pytest.raises(WorkerLostError, match="Spark says no; epoch 1 of 2 workers ends"):
            await starting

    story(tmp_path, tell, workers=2)


def test_workers_that_do_not_come_are_told_in_words(tmp_path: Path) -> None:
    job = ClusterJob(ByHand(), words(tmp_path, 10), config(tmp_path), workers=2, start_timeout_s=0.2)
    with pytest.raises(WorkersNotStartedError, match=r"0 of 2 workers came within 0.2 s: nobody starts them"):
        job.start()


def test_more_workers_than_slots_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotEnoughSlotsError, match=r"workers=5, and there are 4 slots"):
        ClusterJob(ByHand(slots=4), words(tmp_path, 10), config(tmp_path), workers=5)
    assert ClusterJob(ByHand(slots=1), words(tmp_path, 10), config(tmp_path)).workers_wanted == 1
    cluster = ByHand(slots=1, may_grow=True)  # executors may still come, for a while
    job = ClusterJob(cluster, words(tmp_path, 10), config(tmp_path), workers=3, start_timeout_s=0.2)
    with pytest.raises(WorkersNotStartedError, match=r"1 of 3 slots were there within 0\.2 s: executors"):
        job.start()


def test_workers_run_in_the_folder_in_which_their_job_was_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New workers, after others were lost, used to run where the program was by then."""
    monkeypatch.chdir(tmp_path)
    launcher = ByHand()
    job = ClusterJob(launcher, words(tmp_path, 10), config(tmp_path), workers=1, start_timeout_s=0.2)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    elsewhere.rmdir()
    with pytest.raises(WorkersNotStartedError, match="0 of 1 workers"):
        job.start()
    assert [spec.folder for spec in launcher.specs] == [str(tmp_path)]


def test_a_job_of_processes_does_not_speak_of_spark(tmp_path: Path) -> None:
    graph = words(tmp_path, 10)
    with pytest.raises(NotEnoughSlotsError, match=r"ask for 64 at most \(each hosts several subtasks\)$"):
        ProcessJob(graph, config(tmp_path), workers=65)
    job = ProcessJob(graph, config(tmp_path), workers=1, start_timeout_s=0.3)
    with pytest.raises(WorkersNotStartedError, match=r"0 of 1 workers came within 0\.3 s: each imports"):
        job.start()


@pytest.mark.parametrize("workers", ["2", 2.0, True])
def test_a_number_of_workers_that_is_not_whole_is_refused(workers: Any, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=f"workers={workers!r}: give a whole number"):
        ClusterJob(ByHand(), words(tmp_path, 10), config(tmp_path), workers=workers)


def test_something_else_than_a_graph_or_a_configuration_is_refused(tmp_path: Path) -> None:
    env: Any = StreamEnvironment()
    with pytest.raises(BadInputError, match=r"give what env\.job_graph\(\) returns"):
        ProcessJob(env)
    folder: Any = "folder/of/checkpoints"
    with pytest.raises(BadInputError, match=f"a job takes a JobConfig, not a str: '{folder}'"):
        ProcessJob(words(tmp_path, 10), folder)


class Refuses:
    """A function that refuses to be pickled, as locks of multiprocessing do."""

    def __call__(self, row: Row) -> Row:
        return row

    def __reduce__(self) -> Any:
        raise RuntimeError("shared through inheritance only")


def test_a_function_that_refuses_to_be_sent_is_named(tmp_path: Path) -> None:
    job = ClusterJob(ByHand(), words(tmp_path, 10, look=Refuses()), config(tmp_path), workers=1)
    with pytest.raises(BadInputError, match="job 'words' cannot be sent to its workers: shared through inh"):
        job.start()


def test_a_host_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    job = ClusterJob(ByHand(), words(tmp_path, 10), config(tmp_path), workers=1, host="192.0.2.1")
    with pytest.raises(OSError, match=r"192\.0\.2\.1"):
        job.start()


def test_subtasks_of_equal_place_share_a_worker(tmp_path: Path) -> None:
    [first, *_] = words(tmp_path, 10, parallelism=4).vertices
    assert [worker_of(first, id, 2) for id in first.subtasks] == [0, 0, 1, 1]
    assert [worker_of(first, id, 3) for id in first.subtasks] == [0, 0, 1, 2]
    assert [worker_of(first, id, 9) for id in first.subtasks] == [0, 1, 2, 3]


def test_the_driver_listens_on_the_given_address_only(tmp_path: Path) -> None:
    async def tell(driver: Driver, launcher: ByHand, heard: Heard) -> None:
        assert driver._server is not None
        assert [s.getsockname()[0] for s in driver._server.sockets] == ["127.0.0.1"]
        assert driver._server.sockets[0].family == socket.AF_INET

    story(tmp_path, tell)


def test_a_session_that_was_stopped_is_refused(tmp_path: Path) -> None:
    stopped = SimpleNamespace(_sc=SimpleNamespace(_jsc=None))  # as pyspark leaves it after `stop`
    with pytest.raises(BadInputError, match="the Spark session was stopped: create another one"):
        SparkJob(words(tmp_path, 1), spark=stopped)
