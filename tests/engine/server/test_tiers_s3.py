"""Tier 2 on a real S3 server: ``kill -9`` of the store and of the server, and a rebuilt store."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pravega_lab import connect
from pravega_lab.engine.server.store_process import StoreProcess
from tests.engine.server.versitygw import NoServerError, S3Server
from tests.waiting import wait_until


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    pytest.importorskip("s3fs")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    try:
        started = S3Server(tmp_path / "s3")
    except NoServerError as error:
        warnings.warn(f"TIER 2 WAS NOT TESTED ON S3: {error}", stacklevel=1)
        pytest.skip(f"TIER 2 WAS NOT TESTED ON S3: {error}")
    started.start()
    yield started
    started.kill()


@pytest.mark.slow
@pytest.mark.timeout(1200)  # the first run on a machine builds the server, which takes minutes
def test_segments_in_s3_survive_kills_of_store_and_server(tmp_path: Path, server: S3Server) -> None:
    options = tmp_path / "s3.json"
    options.write_text(json.dumps(server.options))
    bucket = tmp_path / "s3" / "data" / "bucket"
    chunks = lambda: len(list(bucket.glob("lab/chunk-*")))  # noqa: E731
    of_tier = ["--tier2", "s3://bucket/lab", "--tier2-options", str(options), "--tier2-after-s", "0.2"]
    events = [f"{n:06d}".ljust(1000, ".") for n in range(3000)]
    data = tmp_path / "data"
    with StoreProcess(data, options=[*of_tier, "--tier2-chunk-bytes", "65536"]) as store:

        def write(first: int, after: int) -> None:
            with connect(store.uri) as client:
                client.stream("s3/stream").write(events[first:after], ["key"] * (after - first))

        def read() -> list[str]:
            with connect(store.uri) as client, client.stream("s3/stream").read() as batches:
                return [event.decode() for b in batches for event in b.column("event").to_pylist()]

        with connect(store.uri) as client:
            client.create_stream("s3/stream")
        write(0, 1000)
        wait_until(lambda: chunks() >= 16, "the first events move")
        store.kill()
        store.start()
        assert read() == events[:1000]
        server.kill()
        write(1000, 2000)
        assert read() == events[:2000]  # from the log, and from the blocks in memory
        store.kill()
        store.start()  # a store starts without its tier 2
        before = chunks()
        server.start()
        wait_until(lambda: chunks() > before + 14, "the second events move once S3 is back")
        write(2000, 3000)
        assert read() == events
        wait_until(lambda: chunks() >= 48, "all events move")
        store.kill()
        wait_until(lambda: len(list(bucket.glob("lab/snapshot-*"))) >= 1, "a snapshot is in S3")
        for snapshot in data.glob("snapshot-*"):
            snapshot.unlink()
        store.options += ["--tier2-rebuild"]
        store.start()
        assert read() == events


@pytest.mark.slow
@pytest.mark.timeout(1200)  # as above
def test_a_store_whose_credentials_become_wrong_says_so_and_moves_on_with_the_new_ones(
    tmp_path: Path, server: S3Server
) -> None:
    options = tmp_path / "s3.json"
    options.write_text(json.dumps(server.options))
    bucket = tmp_path / "s3" / "data" / "bucket" / "lab"
    of_tier = ["--tier2", "s3://bucket/lab", "--tier2-options", str(options), "--tier2-after-s", "0.2"]
    with StoreProcess(tmp_path / "data", options=[*of_tier, "--tier2-cache-bytes", "4096"]) as store:

        def write(event: str) -> None:
            with connect(store.uri) as client:
                client.stream("s3/stream").write([event], ["key"])

        def has_moved(event: bytes) -> bool:
            with suppress(FileNotFoundError):  # what an upload has left is deleted
                return any(event in chunk.read_bytes() for chunk in bucket.glob("chunk-*"))
            return False

        def read() -> list[bytes]:
            with connect(store.uri) as client, client.stream("s3/stream").read() as batches:
                return [event for b in batches for event in b.column("event").to_pylist()]

        with connect(store.uri) as client:
            client.create_stream("s3/stream")
        write("before")
        wait_until(lambda: has_moved(b"before"), "the first event moves")
        server.kill()
        server.secret = "changed"
        server.start()
        write("while they are wrong")
        wait_until(lambda: ": PermissionError" in store.log(), "the log says what is wrong")
        assert "credentials when it starts" in store.log()
        store.stop()
        store.start()
        wait_until(lambda: "Attach: PermissionError" in store.log(), "so does the log of a later start")
        write("after a start with wrong ones")
        store.stop()
        options.write_text(json.dumps(server.options))
        store.start()
        wait_until(lambda: has_moved(b"after a start"), "the other events move with the new credentials")
        assert read() == [b"before", b"while they are wrong", b"after a start with wrong ones"]
