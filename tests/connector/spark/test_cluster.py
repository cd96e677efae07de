"""The main job on a Spark standalone cluster, by the very lines of docs/cluster.md."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pravega_lab.client import ScalingPolicy, connect
from pravega_lab.connector.spark.java import find_java
from pravega_lab.datasets import flights
from pravega_lab.demo.run import CLOSING_EVENT, CLOSING_KEY
from pravega_lab.demo.verdict import check, read_json

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[3]
VARIABLES, MASTER, WORKER_1, WORKER_2, SUBMIT = re.findall(
    r"^```sh\n(.*?)^```$", (ROOT / "docs" / "cluster.md").read_text(), re.MULTILINE | re.DOTALL
)
START_S_MAX = 120.0
RUN_S_MAX = 300.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def environ(store: str, tmp_path: Path) -> dict[str, str]:
    """The variables that the page sets, with values of this test."""
    ours = {
        "SPARK_MASTER": f"spark://127.0.0.1:{free_port()}",
        "SPARK_WORK": str(tmp_path / "work"),
        "PRAVEGA_URI": store,
        "CHECKPOINT": str(tmp_path / "checkpoint"),
        "STOP_FILE": str(tmp_path / "stop"),
        "PYSPARK_PYTHON": sys.executable,
    }
    assert re.findall(r"^export (\w+)=", VARIABLES, re.MULTILINE) == list(ours)
    python_path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    java = {"JAVA_HOME": str(find_java().home), "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **java, "PATH": path, "PYTHONPATH": python_path, **ours}


class Daemon:
    """A line of the page that runs until it is stopped."""

    def __init__(self, line: str, environ: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                ["bash", "-c", line], env=environ, stdout=out, stderr=out, start_new_session=True
            )

    def wait_for(self, words: str) -> None:
        deadline = time.monotonic() + START_S_MAX
        while words not in self._log.read_text():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.1)

    def stop(self) -> None:
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


@pytest.fixture
def cluster(environ: dict[str, str], tmp_path: Path) -> Iterator[None]:
    started: list[Daemon] = []
    try:
        for name, line, words in (
            ("master", MASTER, "I have been elected leader"),
            ("worker-1", WORKER_1, "Successfully registered with master"),
            ("worker-2", WORKER_2, "Successfully registered with master"),
        ):
            daemon = Daemon(line, environ, tmp_path / f"{name}.log")
            started.append(daemon)
            daemon.wait_for(words)
        yield
    finally:
        for daemon in reversed(started):
            daemon.stop()


@pytest.mark.usefixtures("cluster")
def test_the_main_job_runs_by_the_lines_of_the_page(
    environ: dict[str, str], scope_name: Callable[[], str], tmp_path: Path
) -> None:
    scope = scope_name()
    some = flights(1500)
    with connect(environ["PRAVEGA_URI"]) as client:
        source = client.create_stream(f"{scope}/flights", scaling=ScalingPolicy.fixed(2))
        source.write(some.events.slice(0, 700), some.keys.slice(0, 700))
        source.split(source.segments()[0].segment_id)
        source.write(some.events.slice(700), some.keys.slice(700))
        source.write([CLOSING_EVENT], [CLOSING_KEY])
        Path(environ["STOP_FILE"]).touch()
        line = SUBMIT.replace("--scope demo ", f"--scope {scope} ")
        done = subprocess.run(
            ["bash", "-c", line], env=environ, capture_output=True, text=True, timeout=RUN_S_MAX, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        verdict = check(some, read_json(source), read_json(client.stream(f"{scope}/hours")), late=0)
        assert verdict.exact, verdict
        assert verdict.hours > 20
    executors = sorted(Path(environ["SPARK_WORK"]).glob("*/app-*/*"))
    assert len(executors) == 2
