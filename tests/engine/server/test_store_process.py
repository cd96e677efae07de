"""The embedded store as a child process: what it logs, and what an interrupted start leaves."""

from __future__ import annotations

import gc
import os
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from pravega_lab.engine.server.store_process import StoreProcess


@pytest.fixture
def store() -> Iterator[StoreProcess]:
    with StoreProcess() as started:
        yield started


def test_reading_the_log_leaves_the_position_at_which_the_child_writes(store: StoreProcess) -> None:
    """Parent and child share one offset: a line written during the read would overwrite another."""
    log = store._log
    os.write(log, b"first line\nsecond line\n")  # as the child writes: at the shared offset
    os.lseek(log, len(b"first line\n"), os.SEEK_SET)
    assert store.log() == "first line\nsecond line\n"
    assert os.lseek(log, 0, os.SEEK_CUR) == len(b"first line\n")


def test_the_log_is_whole_whatever_its_length_and_however_often_it_is_read(store: StoreProcess) -> None:
    line = b"x" * 99 + b"\n"
    for count in range(1, 4):
        os.write(store._log, line * 1000)
        assert store.log() == (line * 1000 * count).decode()


def test_an_interrupted_start_leaves_no_process_that_holds_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_ready = StoreProcess._wait_ready

    def interrupted(store: StoreProcess, process: subprocess.Popen[bytes]) -> str:
        wait_ready(store, process)
        raise KeyboardInterrupt

    monkeypatch.setattr(StoreProcess, "_wait_ready", interrupted)
    with pytest.raises(KeyboardInterrupt):  # which keeps the object alive, as the traceback of a cell does
        StoreProcess(tmp_path)
    monkeypatch.undo()
    StoreProcess(tmp_path).close()


def test_a_closed_store_leaves_no_file_open() -> None:
    """A program that makes errors of warnings would end with one."""
    gc.collect()  # what other tests left
    with StoreProcess() as store:
        descriptors = len(os.listdir("/dev/fd"))
    assert store.log() == ""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        del store
        gc.collect()
    assert [str(warning.message) for warning in warned] == []
    assert len(os.listdir("/dev/fd")) < descriptors
