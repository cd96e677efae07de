"""The handle of a driver process, with scripts that do not use Spark."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from pravega_lab.connector.spark import submit
from pravega_lab.connector.spark.session.progress import read_progress
from pravega_lab.errors import BadInputError

WAITING = """
import os, sys, time, subprocess
child = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE)
with open(os.environ["PIDS"], "a") as pids:
    pids.write(f"{os.getpid()} {child.pid}\\n")
print("started", *sys.argv[1:], flush=True)
time.sleep(600)
"""


def script(folder: Path, text: str) -> Path:
    file = folder / "script.py"
    file.write_text(text)
    return file


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, or is dead and not collected yet."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True


def wait_lines(file: Path, n: int) -> list[list[int]]:
    while not file.exists() or len(file.read_text().splitlines()) < n:
        os.sched_yield()
    return [[int(pid) for pid in line.split()] for line in file.read_text().splitlines()]


def test_kill_ends_the_script_and_its_children_and_restart_runs_it_again(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with submit(script(tmp_path, WAITING), "a", "b", env={"PIDS": str(pids)}) as driver:
        [first] = wait_lines(pids, 1)
        assert driver.alive
        assert driver.pid == first[0]
        driver.restart()
        second = wait_lines(pids, 2)[1]
        assert driver.runs == 2
        assert driver.log().count("started a b") == 2
    assert not driver.alive
    assert driver.wait() == -signal.SIGKILL
    for pid in (*first, *second):
        while not is_gone(pid):
            os.sched_yield()


def test_it_sees_this_package_and_its_exit_code_is_kept(tmp_path: Path) -> None:
    driver = submit(script(tmp_path, "import pravega_lab, sys; sys.exit(7)"))
    assert driver.wait(60) == 7
    driver.kill()
    assert driver.wait() == 7


def test_wait_gives_up_in_words(tmp_path: Path) -> None:
    with (
        submit(script(tmp_path, "import time; time.sleep(60)")) as driver,
        pytest.raises(TimeoutError, match=r"script\.py is still running after 0.01 s; see .*driver\.log"),
    ):
        driver.wait(0.01)


def test_a_missing_script_and_a_second_start_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"submit\(3\): give the path of a Python file"):
        submit(3)  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="no script"):
        submit(tmp_path / "none.py")
    with (
        submit(script(tmp_path, "import time; time.sleep(60)")) as driver,
        pytest.raises(BadInputError, match="is already running"),
    ):
        driver.start()


def test_progress_is_read_from_whole_lines_of_all_runs(tmp_path: Path) -> None:
    writes = """
import os, json
with open(os.environ["PRAVEGA_LAB_PROGRESS_FILE"], "a") as out:
    for batch in range(2):
        line = {"kind": "progress", "run": os.getpid(), "at_ms": 1, "progress": {"batchId": batch}}
        print(json.dumps(line), file=out)
    print(json.dumps({"kind": "idle", "run": os.getpid(), "at_ms": 2}), file=out)
    out.write('{"kind": "progr')
"""
    driver = submit(script(tmp_path, writes), progress_file=tmp_path / "deep" / "p.jsonl")
    assert driver.wait(60) == 0
    assert [batch["batchId"] for batch in driver.progress()] == [0, 1]
    with driver.progress_file.open("a") as out:
        out.write("\n" + json.dumps({"kind": "terminated"}) + "\n")
    assert [line["kind"] for line in read_progress(driver.progress_file)] == ["progress"] * 2 + [
        "idle",
        "terminated",
    ]
