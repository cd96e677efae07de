"""The admin port, what it reports, and the lines of the log."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from pravega_lab.client import connect
from pravega_lab.engine.server.limits.limits import Limits
from pravega_lab.engine.server.monitoring import admin_port
from pravega_lab.engine.server.monitoring.admin_port import AdminPort
from pravega_lab.engine.server.monitoring.health import Health, health_of
from pravega_lab.engine.server.monitoring.logs import JsonFormatter, LineFormatter
from pravega_lab.engine.server.monitoring.samples import Tally
from pravega_lab.engine.server.segment_store import SegmentStore
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.log_fields import log_fields
from pravega_lab.protocol.controller import controller_pb2 as pb
from tests.engine.server.test_registry import bytes_after_the_cut
from tests.engine.store.controller.driver import Driven, info
from tests.engine.store.storage_driver import Driver, TornDisk, run
from tests.standalone import START_TIMEOUT_S, Standalone

JAVA = {
    "segmentstore.segment.write_bytes_global": "counter",
    "segmentstore.segment.write_events_global": "counter",
    "segmentstore.segment.read_bytes_global": "counter",
    "segmentstore.bookkeeper.write_bytes": "counter",
    "segmentstore.container.active_segments": "gauge",
    "segmentstore.container.operation_queue.size": "gauge",
    "controller.stream.created": "counter",
    "controller.stream.sealed": "counter",
    "controller.stream.deleted": "counter",
    "controller.stream.truncated": "counter",
    "controller.segment.splits": "counter",
    "controller.segment.merges": "counter",
    "controller.segments.count": "gauge",
    "controller.transactions.created": "counter",
    "controller.transactions.committed": "counter",
    "controller.transactions.aborted": "counter",
    "controller.transactions.opened": "gauge",
    "segmentstore.storage.write_bytes": "counter",
    "segmentstore.storage.read_bytes": "counter",
    "logged_errors": "counter",
    "logged_warnings": "counter",
}
"""Names of `MetricsNames` in Pravega 0.13.0 without their prefix "pravega."."""


def spelled(name: str) -> str:
    """A name as the Prometheus reporter of Micrometer spells it."""
    return f"pravega_{name.replace('.', '_')}" + ("_total" if JAVA[name] == "counter" else "")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The URIs of a store with tier 2 and of its admin port."""
    folder = tmp_path_factory.mktemp("served")
    tier = ("--tier2", str(folder / "objects"), "--tier2-chunk-bytes", "4096", "--tier2-after-s", "0.02")
    data = ("--data", str(folder / "store"))
    store = Standalone(*data, *tier, "--admin-port", "0", "--log-format", "json")
    with store as uri:
        deadline = time.monotonic() + START_TIMEOUT_S
        while "admin_port_open" not in store.errors():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        line = json.loads(store.errors().splitlines()[0])
        assert (line["level"], line["event"]) == ("INFO", "admin_port_open")
        yield uri, line["url"]


def get(url: str, method: str = "GET") -> tuple[int, str, str]:
    """Status, content type and text."""
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=START_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        answer = error  # type: ignore[assignment]
    with answer:
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


def values(text: str) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def test_metrics_have_the_names_of_java_and_count_what_clients_do(served: tuple[str, str]) -> None:
    uri, admin = served
    before = values(get(f"{admin}/metrics")[2])
    with connect(uri) as client:
        stream = client.create_stream("s/events")
        stream.write([b"12", b"345"], ["a", "b"])
        with stream.read() as batches:
            assert sum(len(batch) for batch in batches) == 2
        status, kind, text = get(f"{admin}/metrics")
    assert status == 200
    assert kind.startswith("text/plain; version=")
    after = values(text)
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert grown["pravega_segmentstore_segment_write_events_global_total"] == 2
    assert grown["pravega_segmentstore_segment_write_bytes_global_total"] == 5 + 2 * 8
    assert grown["pravega_segmentstore_segment_read_bytes_global_total"] == 5 + 2 * 8
    assert grown["pravega_controller_stream_created_total"] == 1
    assert after['pravega_controller_segments_count{scope="s",stream="events"}'] == 1
    assert after['pravega_lab_stream_bytes{scope="s",stream="events"}'] == 5 + 2 * 8
    deadline = time.monotonic() + START_TIMEOUT_S
    while not after["pravega_segmentstore_storage_write_bytes_total"]:
        assert time.monotonic() < deadline
        after = values(get(f"{admin}/metrics")[2])
    assert after["pravega_segmentstore_storage_write_bytes_total"] >= 5 + 2 * 8
    assert {
        f"pravega_lab_tier2_{name}" for name in ("chunks", "bytes", "log_bytes", "failures", "behind")
    } <= set(after)
    names = {name.partition("{")[0] for name in after}
    assert {spelled(name) for name in JAVA} <= names
    ours = {name for name in names if name.startswith("pravega_") and not name.startswith("pravega_lab_")}
    assert ours == {spelled(name) for name in JAVA}


def test_the_port_answers_only_what_it_knows(served: tuple[str, str]) -> None:
    _, admin = served
    assert get(f"{admin}/health") == (200, "application/json", '{"status": "ready", "reasons": []}\n')
    assert get(f"{admin}/health", "HEAD")[::2] == (200, "")
    assert get(f"{admin}/")[0] == 404
    assert get(f"{admin}/health", "POST")[0] == 405
    host, port = admin.removeprefix("http://").split(":")
    for sent, answered in ((b"nonsense\r\n\r\n", b"HTTP/1.1 400"), (b"GET /health" + bytes(20_000), b"")):
        with socket.create_connection((host, int(port)), timeout=START_TIMEOUT_S) as raw:
            raw.sendall(sent)
            try:
                assert raw.recv(100)[:12] == answered
            except ConnectionResetError:
                assert not answered


def test_a_client_that_takes_no_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then it counts as a connection."""
    monkeypatch.setattr(admin_port, "REQUEST_S_MAX", 0.1)
    n_bytes = 32 << 20

    async def story() -> None:
        port = AdminPort(list, lambda: Health("degraded", ("x" * n_bytes,)))
        async with await port.listen("127.0.0.1", 0) as server:
            assert await bytes_after_the_cut(port, server, "/health") < n_bytes

    asyncio.run(story())


def test_a_store_that_cannot_do_everything_is_degraded() -> None:
    async def story() -> None:
        disk = TornDisk(capacity=3 * 4096)
        driver = Driver(disk)
        loop = asyncio.get_running_loop()
        limits = Limits(unsynced_bytes=9)
        store = SegmentStore(driver.storage, loop, lambda: 0, lambda: pytest.fail("no ids"), limits)
        assert health_of(driver.storage, store).status == "ready"
        driver.do(ops.CreateSegment("a"))
        while not driver.storage.is_full:
            driver.do(ops.Append("a", bytes(1000)))
        found = health_of(driver.storage, store)
        assert (found.status, found.reasons, found.http_status) == ("degraded", ("disk_full",), 503)

        class Connection:
            is_throttled = False

        store.throttle(Connection(), 10)  # type: ignore[arg-type]
        assert health_of(driver.storage, store).reasons == ("disk_full", "throttled")
        assert (store.waiting_bytes, store.throttled_count) == (10, 1)
        driver.storage.failed(OSError("broken"))
        assert health_of(driver.storage, store).status == "failed"

    run(story())


def test_what_happens_to_streams_and_transactions_is_counted() -> None:
    driven = Driven()
    tally = Tally()
    driven.controller.metadata.watchers.append(tally.watch)
    driven.make("a", 1)
    driven.scale("a", [0], [(0.0, 0.5), (0.5, 1.0)])
    driven.scale("a", [(1 << 32) + 1, (1 << 32) + 2], [(0.0, 1.0)])
    committed, aborted = driven.begin("a")[0], driven.begin("a")[0]
    driven.commit("a", committed)
    driven.abort("a", aborted)
    driven.tick(10)
    driven.call("sealStream", info("a"))
    driven.call("deleteStream", pb.StreamInfo(scope="s", stream="a"))
    found = {name: count for name, count in tally.counts.items() if count}
    assert found == {
        "stream_created": 1,
        "stream_sealed": 1,
        "stream_deleted": 1,
        "segment_splits": 1,
        "segment_merges": 1,
        "transactions_created": 2,
        "transactions_committed": 1,
        "transactions_aborted": 1,
    }


@pytest.mark.parametrize("hostile", ["two\nlines", "\x1b[2J", 'a "quote"', "", "s/a"])
def test_a_line_stays_one_line(hostile: str) -> None:
    record = logging.LogRecord("store", logging.ERROR, "", 0, "failed: %s", (hostile,), None)
    record.__dict__.update(log_fields("read_failed", stream=hostile, level=3))
    try:
        raise ValueError(hostile)
    except ValueError:
        record.exc_info = sys.exc_info()
    line = LineFormatter().format(record)
    assert line.isprintable()
    assert line.split(" ")[1:3] == ["ERROR", "read_failed"]
    shown = hostile if hostile == "s/a" else json.dumps(hostile)
    assert f" stream={shown} level_=3 logger=store msg=" in line
    found = json.loads(JsonFormatter().format(record))
    assert found["time"].endswith("Z")
    assert (found["level"], found["event"], found["stream"]) == ("ERROR", "read_failed", hostile)
    assert found["msg"] == f"failed: {hostile}"
    assert "ValueError" in found["traceback"]
