"""Which files of older checkpoints go when a newer one is complete, and that they do go."""

from __future__ import annotations

import asyncio

import pytest

from pravega_lab.engine.flow.checkpoint import metadata
from pravega_lab.engine.flow.checkpoint.handles import CompletedCheckpoint
from pravega_lab.engine.flow.checkpoint.storage import (
    CheckpointLayout,
    CompletedStore,
    discard,
    file_name,
    files_elsewhere,
)
from pravega_lab.engine.flow.elements import CheckpointKind
from pravega_lab.engine.flow.files import MemoryFiles, join
from pravega_lab.engine.flow.state.handles import Blob, ListMode, ListState, OperatorState, SubtaskState

LAYOUT = CheckpointLayout("root", "job")
SHARED = f"{LAYOUT.shared}/-c1-"


def completed(
    number: int, *shared: str, kind: CheckpointKind = CheckpointKind.CHECKPOINT
) -> CompletedCheckpoint:
    """A checkpoint with one private file, and with ``shared`` ones."""
    path = LAYOUT.of_checkpoint(number)
    blobs = [Blob(name, 0, 1, 0) for name in (f"{path}/op-0", *shared)]
    state = OperatorState("op", "op", "v0", 1, 128)
    state.subtasks = {0: SubtaskState({}, {"list": ListState(ListMode.SPLIT, tuple(blobs))})}
    return CompletedCheckpoint(number, kind, "g", 0, path, {"op": state})


def test_what_no_retained_checkpoint_needs_goes() -> None:
    store = CompletedStore(retain=2)
    assert store.latest is None
    assert store.add(completed(1, f"{SHARED}a", f"{SHARED}b"), ()) == []
    assert store.add(completed(2, f"{SHARED}b"), ()) == []
    assert store.add(completed(3, f"{SHARED}b"), ()) == [f"{SHARED}a", "root/job/chk-1/"]
    savepoint = completed(4, kind=CheckpointKind.SUSPEND)
    assert store.add(savepoint, ()) == ["root/job/chk-2/"]
    assert store.latest is savepoint
    assert store.add(completed(5), ()) == [f"{SHARED}b", "root/job/chk-3/"]
    assert store.add(completed(6), ()) == []  # the savepoint is the user's
    assert [kept.checkpoint_id for kept in store.checkpoints] == [5, 6]


def test_a_folder_stays_while_a_retained_checkpoint_refers_into_it() -> None:
    store = CompletedStore()
    assert store.add(completed(1), ()) == []
    assert store.add(completed(2, "root/job/chk-1/op-0"), ()) == []
    assert store.add(completed(3, "root/job/chk-1/op-0"), ()) == ["root/job/chk-2/"]
    assert store.add(completed(4), ()) == ["root/job/chk-1/", "root/job/chk-3/"]


def test_a_folder_stays_while_a_pending_checkpoint_may_refer_into_it_again() -> None:
    store, file = CompletedStore(), "root/job/chk-1/op-0"
    assert store.add(completed(1), ()) == []
    assert store.add(completed(2, file), ()) == []
    assert store.add(completed(3), {4}) == ["root/job/chk-2/"]
    assert store.add(completed(4, file), ()) == ["root/job/chk-3/"]
    assert store.ended(4) == []
    assert store.add(completed(5), {6}) == ["root/job/chk-4/"]
    assert store.ended(6) == ["root/job/chk-1/"]


@pytest.mark.parametrize("kind", [CheckpointKind.CHECKPOINT, CheckpointKind.SAVEPOINT])
def test_a_claimed_checkpoint_goes_when_a_newer_one_is_complete(kind: CheckpointKind) -> None:
    store, claimed = CompletedStore(), completed(1, f"{SHARED}a", kind=kind)
    store.claim(claimed)
    assert store.latest is claimed
    assert store.add(completed(2), ()) == [f"{SHARED}a", "root/job/chk-1/"]


def test_a_name_is_one_that_every_file_system_accepts() -> None:
    assert file_name("map.2", 0, 7, 1) == "map.2-0-c7-a1"
    assert file_name("map ü/2", 0, 7, 1) == "map_ü_2-bb9920e6-0-c7-a1"


def test_operators_whose_ids_differ_in_punctuation_only_have_different_files() -> None:
    ids = ["count min", "count/min", "count  min", "count_min", "count\ud800min"]
    assert len({file_name(id, 0, 1, 0) for id in ids}) == len(ids)


@pytest.mark.parametrize("folder", ["sp/1", "/data/sp", "..", ".", "s3://bucket/sp"])
def test_a_savepoint_has_its_own_files_in_its_folder_whatever_the_folder_is_called(folder: str) -> None:
    savepoint = completed(1, join(folder, "op-0-c1-a0"), f"{SHARED}op-0-c1-a0", kind=CheckpointKind.SAVEPOINT)
    savepoint.path = join(folder)
    assert files_elsewhere(savepoint) == ["root/job/chk-1/op-0", f"{SHARED}op-0-c1-a0"]


@pytest.mark.parametrize(
    ("folder", "path", "found"),
    [
        ("root/job/chk-2", "root/job/shared/a", "root/job/shared/a"),
        ("/data/job/chk-2", "/elsewhere/a", "/elsewhere/a"),
        ("s3://bucket/job/chk-2", "s3://other/a", "s3://other/a"),
        ("s3://bucket/job/chk-2", "memory://job/a", "memory://job/a"),
        ("/data/job/chk-2", "s3://bucket/job/a", "s3://bucket/job/a"),
        ("s3://bucket/job/chk-2", "/elsewhere/a", "file:///elsewhere/a"),
    ],
)
def test_metadata_find_a_file_in_another_folder_or_file_system(folder: str, path: str, found: str) -> None:
    checkpoint = completed(2, path)
    checkpoint.path = folder
    assert metadata.decode(metadata.encode(checkpoint), folder).files[1] == found


def test_files_and_folders_are_discarded() -> None:
    files = MemoryFiles()
    old, newer = ["root/job/chk-1/op-0", "root/job/chk-1/_metadata"], "root/job/chk-10/op-0"
    files.data = dict.fromkeys([*old, newer, f"{SHARED}a", f"{SHARED}b"], b"x")
    asyncio.run(discard(files, ["root/job/chk-1/", f"{SHARED}a"]))
    assert list(files.data) == [newer, f"{SHARED}b"]
