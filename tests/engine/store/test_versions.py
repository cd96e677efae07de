"""Stores of earlier versions of the format open, and stores of later versions are refused in words.

Each file in ``stores`` holds a store as a release with that format left it, without a clean stop. When the
format changes, add the store of the version before the change, and keep the others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pravega_lab.engine.store.controller import Controller
from pravega_lab.engine.store.errors import StoreVersionError
from pravega_lab.engine.store.log.format import (
    FILE_HEADER_BYTES,
    GROUP_HEADER_BYTES,
    LOG_VERSION,
    file_version,
    group_length,
)
from pravega_lab.engine.store.storage.snapshot import SNAPSHOT_VERSION
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS
from tests.engine.store.storage_driver import STORES, Driver, stored


@pytest.mark.parametrize("path", STORES, ids=lambda path: path.name)
def test_a_store_of_every_earlier_version_opens(path: Path) -> None:
    storage = Driver(stored(path), file_bytes=16 * 1024).storage
    parts = {
        "s/events/0.#epoch.0": (1000, b"a" * 2000),
        "s/events/1.#epoch.0": (500, b"b" * 2500),
        "s/logs/0.#epoch.0": (0, b"c" * 7000 + b"d" * 7000 + b"e" * 3000),
        "s/late/0.#epoch.0": (0, b"f" * 100),
    }
    for name, (start, data) in parts.items():
        assert storage.info(name).start_offset == start
        assert storage.read(name, start, 1 << 20).data == data
    committed = [name for name in storage.segments() if ".#epoch.2" in name and "#transaction" not in name]
    assert b"".join(storage.read(name, 0, 999).data for name in committed) == b"t" * 1000
    assert [value and value.value for value in storage.table_get("s/t_kvtable/0.#epoch.0", [b"k", b"l"])] == [
        b"v",
        b"w",
    ]
    controller = Controller(storage, lambda: pytest.fail("no ids are needed"), "127.0.0.1", 1)
    answer = controller.call(
        "getCurrentSegments",
        pb.StreamInfo(scope="s", stream="events").SerializeToString(),
        now_ms=1_700_000_100_000,
    )
    found = METHODS["getCurrentSegments"].response.FromString(answer.payload)  # type: ignore[union-attr]
    assert sorted((r.minKey, r.maxKey) for r in found.segmentRanges) == [(0, 0.25), (0.25, 0.5), (0.5, 1)]


@pytest.mark.parametrize(
    ("kind", "at", "later"), [("log-", 15, LOG_VERSION + 1), ("snapshot-", 7, 0x31 + SNAPSHOT_VERSION)]
)
def test_a_store_of_a_later_version_is_refused_in_words(kind: str, at: int, later: int) -> None:
    disk = stored(STORES[-1])
    name = next(name for name in disk.files() if name.startswith(kind))
    disk.contents[name][at] = later
    with pytest.raises(StoreVersionError, match="a newer release wrote it") as caught:
        Driver(disk)
    assert name in str(caught.value)
    assert caught.value.found == caught.value.known + 1


@pytest.mark.parametrize("length", [0, 5, 14, 15])
def test_a_file_whose_beginning_is_torn_has_no_version(length: int) -> None:
    disk = stored(STORES[-1])
    name = next(name for name in disk.files() if name.startswith("log-"))
    header = bytes(disk.contents[name])
    assert file_version(header) == file_version(header[:16]) == LOG_VERSION
    assert file_version(header[:length]) is None
    assert file_version(header[1:]) is None


def test_what_is_no_whole_header_of_a_group_has_no_length() -> None:
    disk = stored(STORES[-1])
    content = next(bytes(data) for name, data in disk.contents.items() if name.startswith("log-"))
    header = content[FILE_HEADER_BYTES : FILE_HEADER_BYTES + GROUP_HEADER_BYTES]
    found = group_length(header)
    assert found is not None
    assert GROUP_HEADER_BYTES < found[1] < len(content)
    assert [group_length(header[:n]) for n in range(GROUP_HEADER_BYTES)] == [None] * GROUP_HEADER_BYTES
    assert group_length(bytes(GROUP_HEADER_BYTES)) is None
