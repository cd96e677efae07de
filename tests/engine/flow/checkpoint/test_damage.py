"""Damaged state of every kind ends in `DamagedCheckpointError`, and costs neither memory nor the process."""

from __future__ import annotations

import asyncio
import json
import pickle
import resource
import tracemalloc
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec.implementations.memory
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pravega_lab.cli import main
from pravega_lab.engine.flow.checkpoint import metadata
from pravega_lab.engine.flow.checkpoint.handles import CompletedCheckpoint, MasterState
from pravega_lab.engine.flow.checkpoint.storage import BlobReader
from pravega_lab.engine.flow.elements import CheckpointKind
from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.engine.flow.files import FsspecFiles, MemoryFiles
from pravega_lab.engine.flow.state import plain_values as plain
from pravega_lab.engine.flow.state.handles import Blob, ListMode, ListState, OperatorState, SubtaskState
from pravega_lab.engine.flow.state.state import KeyedState
from pravega_lab.errors import BadInputError

NUMBERS = st.integers() | st.floats(allow_nan=False)
ATOMS = st.none() | st.booleans() | NUMBERS | st.text() | st.binary(max_size=300)
KEYS = st.recursive(ATOMS, lambda inner: st.tuples(inner, inner) | st.tuples(inner), max_leaves=4)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner, inner, inner) | st.dictionaries(KEYS, inner) | st.sets(KEYS)
    ),
    max_leaves=20,
)


def is_read_or_refused(data: bytes) -> None:
    with suppress(DamagedCheckpointError):
        plain.from_bytes(data)


@given(VALUES)
def test_plain_values_come_back(value: Any) -> None:
    assert plain.from_bytes(plain.to_bytes(value)) == value


def test_shared_and_cyclic_parts_come_back() -> None:
    part: list[Any] = [1]
    ring: list[Any] = [2]
    ring.append((ring,))
    back = plain.from_bytes(plain.to_bytes({"a": part, "b": part, "ring": ring}))
    assert back["a"] is back["b"]
    assert back["ring"][1][0] is back["ring"]


@pytest.mark.slow
@given(VALUES, st.data())
@settings(max_examples=400)
def test_flipped_bytes_are_another_value_or_refused(value: Any, data: st.DataObject) -> None:
    encoded = bytearray(plain.to_bytes(value))
    for _ in range(data.draw(st.integers(1, 4))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    is_read_or_refused(bytes(encoded))


@given(VALUES, st.data())
def test_a_part_of_a_value_is_refused(value: Any, data: st.DataObject) -> None:
    encoded = plain.to_bytes(value)
    with pytest.raises(DamagedCheckpointError):
        plain.from_bytes(encoded[: data.draw(st.integers(0, len(encoded) - 1))])
    with pytest.raises(DamagedCheckpointError):
        plain.from_bytes(encoded + data.draw(st.binary(min_size=1)))


@given(st.binary())
@example(b"\x80\x05]K\x01b.")  # builds: AttributeError
@example(b"\x80\x05K\x01K\x02a.")  # appends to a number: AttributeError
@example(b"\x80\x05\x8d" + b"\xff" * 8 + b".")  # a text of 2**64 characters: OverflowError
@example(b"\x80\x05\x8e" + b"\xff" * 7 + b"\x0f.")  # bytes of 2**60: MemoryError
@settings(max_examples=400)
def test_arbitrary_bytes_are_a_value_or_refused(data: bytes) -> None:
    is_read_or_refused(data)
    is_read_or_refused(b"\x80\x05" + data + b".")


@pytest.mark.slow
@pytest.mark.parametrize(
    "opcodes",
    [
        pytest.param(b"K\x01" + b"\x85" * 1_000_000, id="tuples"),
        pytest.param(b"}K\x01" + b"\x85" * 1_000_000 + b"Ns", id="a key of tuples, whose hash would recurse"),
        pytest.param(b"]" * 1_000_000 + b"K\x01" + b"a" * 1_000_000, id="lists"),
        pytest.param(b"K\x01\x94" + b"\x85\x940h\x01\x85" * 3 + b"\x85" * 1_000_000, id="from the memo"),
        pytest.param(b"(" * 1_000_000, id="marks"),
    ],
)
def test_values_that_are_nested_too_deeply_are_refused(opcodes: bytes) -> None:
    with pytest.raises(DamagedCheckpointError):
        plain.from_bytes(b"\x80\x05" + opcodes + b".")


def test_the_bound_of_the_depth_is_exact() -> None:
    nested = b"\x80\x05N" + b"\x85" * plain.DEPTH_MAX
    assert plain.from_bytes(nested + b".") is not None
    with pytest.raises(DamagedCheckpointError, match="10,000 levels"):
        plain.from_bytes(nested + b"\x85.")
    fetched = b"\x80\x05]\x94(N" + b"\x85" * plain.DEPTH_MAX + b"e\x85."
    with pytest.raises(DamagedCheckpointError, match="10,000 levels"):
        plain.from_bytes(fetched)


def test_what_is_nested_too_deeply_cannot_be_written() -> None:
    value: list[Any] = []
    for _ in range(200_000):
        value = [value]
    with pytest.raises(BadInputError, match="nested"):
        plain.to_bytes(value)


@pytest.mark.parametrize(
    "opcodes",
    [
        pytest.param(b"Nr\xff\xff\xff\x0f", id="a memo with a place for 2**28 values"),
        pytest.param(b"\x96" + (2**33).to_bytes(8, "little"), id="an array of 8 GiB"),
        pytest.param(b"\x8e" + (2**33).to_bytes(8, "little"), id="bytes of 8 GiB"),
        pytest.param(b"\x8b\xff\xff\xff\x7f", id="an integer of 2 GiB"),
    ],
)
def test_a_false_length_costs_no_memory(opcodes: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        with pytest.raises(DamagedCheckpointError):
            plain.from_bytes(b"\x80\x05" + opcodes + b".")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("value", [print, Path("x"), complex(1, 2), DamagedCheckpointError("x")])
def test_no_protocol_brings_code_back(value: Any, protocol: int) -> None:
    try:
        data = pickle.dumps(value, protocol)
    except TypeError:
        return
    with pytest.raises(DamagedCheckpointError):
        plain.from_bytes(data)


# -- metadata ------------------------------------------------------------------------------------------------


def checkpoint() -> CompletedCheckpoint:
    """A checkpoint that has something of everything."""
    done = CompletedCheckpoint(7, CheckpointKind.SAVEPOINT, "job", 1000, "folder")
    blob = Blob("folder/file", 3, 5, 99)
    state = SubtaskState({4: blob}, {"list": ListState(ListMode.UNION, (blob, blob))})
    done.operators["o"] = OperatorState("o", "map", "task", 2, 8, {0: state}, {1}, False, b"coordinator")
    done.master["h"] = MasterState("h", 1, b"hook")
    return done


BODY = json.loads(metadata.encode(checkpoint()))


def sealed(body: dict[str, Any]) -> bytes:
    """Return metadata with a checksum that is right."""
    bare = {name: value for name, value in body.items() if name != "crc32"}
    return json.dumps({**bare, "crc32": zlib.crc32(json.dumps(bare, sort_keys=True).encode())}).encode()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, inner in items for place in places(inner, (*path, key))]


def test_metadata_with_another_checksum_of_the_same_body_is_read() -> None:
    assert metadata.decode(sealed(BODY), "folder") == checkpoint()


@given(st.data())
@settings(max_examples=400)
def test_flipped_or_cut_metadata_is_refused(data: st.DataObject) -> None:
    encoded = bytearray(metadata.encode(checkpoint()))
    at = data.draw(st.integers(0, len(encoded) - 1))
    if data.draw(st.booleans()):
        del encoded[at:]
    else:
        encoded[at] ^= data.draw(st.integers(1, 255))
    with suppress(DamagedCheckpointError):  # what is read differs in white space only
        assert metadata.decode(bytes(encoded), "folder") == checkpoint()


@pytest.mark.parametrize("change", ["cut", "empty", "added"])
def test_metadata_that_were_cut_or_extended_are_damaged_and_not_of_another_program(change: str) -> None:
    whole = metadata.encode(checkpoint())
    found = {"cut": whole[: len(whole) // 2], "empty": b"", "added": whole + b" x"}[change]
    with pytest.raises(DamagedCheckpointError, match=r"_metadata is damaged: .* take another checkpoint"):
        metadata.decode(found, "folder")
    with pytest.raises(DamagedCheckpointError, match="is not the metadata of a checkpoint of this engine"):
        metadata.decode(b"[]" + found, "folder")


@pytest.mark.parametrize("url", ["nope://x", "memory://x"])
def test_a_url_that_cannot_be_read_is_refused_in_words(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, path: str) -> bytes:
        raise RuntimeError("unable to locate credentials")

    monkeypatch.setattr(fsspec.implementations.memory.MemoryFileSystem, "cat_file", refuse)
    assert main(["savepoint", "inspect", url]) == 1
    why = "ValueError: Protocol not known" if url == "nope://x" else "RuntimeError: unable to locate"
    assert f"pravega-lab savepoint: '{url}' cannot be read ({why}" in capsys.readouterr().err


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.parametrize("place", places(BODY), ids=str)
@given(put=JSON | st.just(...))
@settings(max_examples=25)
def test_metadata_of_another_shape_is_refused_or_has_the_types_that_it_promises(
    place: tuple[Any, ...], put: Any
) -> None:
    body = json.loads(json.dumps(BODY))
    parent = body
    for key in place[:-1]:
        parent = parent[key]
    if put is ...:
        del parent[place[-1]]
    else:
        parent[place[-1]] = put
    try:
        done = metadata.decode(sealed(body), "folder")
    except DamagedCheckpointError:
        return
    for blob in done.blobs():
        assert isinstance(blob.path, str)
        assert min(blob.offset, blob.length, blob.crc) >= 0
    assert done.size_bytes >= 0
    assert all(isinstance(name, str) for name in [*done.operators, *done.master, done.job])


@pytest.mark.parametrize("opening", [b"[", b'{"format":'])
def test_deeply_nested_metadata_is_refused(opening: bytes) -> None:
    with pytest.raises(DamagedCheckpointError):
        metadata.decode(opening * 500_000, "folder")
    for depth in range(700, 1000, 20):  # deep enough for the checksum, but not for the parser, or the reverse
        body = sealed(BODY)[:-1] + b', "x": ' + b"[" * depth + b"]" * depth + b"}"
        with pytest.raises(DamagedCheckpointError):
            metadata.decode(body, "folder")


# -- files and tables ----------------------------------------------------------------------------------------


@given(st.binary(max_size=50), st.integers(0, 60), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_a_blob_is_what_was_written_or_refused(data: bytes, offset: int, length: int, crc: int) -> None:
    files = MemoryFiles()
    files.data["f"] = data
    try:
        read = asyncio.run(BlobReader(files).read(Blob("f", offset, length, crc)))
    except DamagedCheckpointError:
        return
    assert (len(read), zlib.crc32(read)) == (length, crc)


@pytest.mark.parametrize("path", ["gone", "", "a\0b", "\ud800", "x::y", "file/below"])
def test_a_path_that_names_no_file_is_refused(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"data")
    with pytest.raises(DamagedCheckpointError, match="is missing"):
        asyncio.run(BlobReader(FsspecFiles()).read(Blob(f"{tmp_path}/{path}", 0, 1, 2)))


@pytest.mark.parametrize("value", [None, 7, "text", [1], {"a": 1}, {1: {}}, {"a": [1]}])
def test_keyed_state_of_another_shape_is_refused(value: Any) -> None:
    with pytest.raises(DamagedCheckpointError, match="key group 3"):
        KeyedState(8, range(8)).restore(3, plain.to_bytes(value), None)
