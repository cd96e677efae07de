"""The processes of a Spark standalone cluster on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.spark.jvm import QUICK_START

ROOT = Path(__file__).resolve().parents[2]
START_S_MAX = 120.0
MASTER = "spark-class org.apache.spark.deploy.master.Master --host 127.0.0.1 --webui-port 0"
WORKER = "spark-class org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --webui-port 0"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def environ_for_spark() -> dict[str, str]:
    """Variables with which Spark's scripts and their Python find everything; all JVMs start quickly."""
    from pravega_lab.connector.spark.session.java import find_java

    python_path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    quick = os.environ.get("SPARK_SUBMIT_OPTS", QUICK_START)
    java = {"JAVA_HOME": str(find_java().home), "SPARK_LOCAL_IP": "127.0.0.1", "JAVA_TOOL_OPTIONS": quick}
    return {**os.environ, **java, "PATH": path, "PYTHONPATH": python_path, "PYSPARK_PYTHON": sys.executable}


class Daemon:
    """A line of a shell that runs until it is stopped."""

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

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process.poll() is not None:
            return
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


@contextmanager
def daemons(lines: dict[str, tuple[str, str]], environ: dict[str, str], folder: Path) -> Iterator[None]:
    """Started one after the other, stopped the other way round. ``lines``: by name, each with what its log
    says when it is there."""
    with ExitStack() as started:
        for name, (line, words) in lines.items():
            daemon = Daemon(line, environ, folder / f"{name}.log")
            started.callback(daemon.stop)
            daemon.wait_for(words)
        yield


@contextmanager
def one_worker(cores: int, folder: Path) -> Iterator[str]:
    """A master and a worker that starts quickly; gives the master's address."""
    address = f"spark://127.0.0.1:{free_port()}"
    environ = environ_for_spark() | {"SPARK_DAEMON_JAVA_OPTS": QUICK_START, "SPARK_DAEMON_MEMORY": "256m"}
    master = f"{MASTER} --port {address.rpartition(':')[2]}"
    worker = f"{WORKER} --cores {cores} --memory {cores}g --work-dir {folder / 'work'} {address}"
    lines = {
        "master": (master, "I have been elected leader"),
        "worker": (worker, "Successfully registered with master"),
    }
    with daemons(lines, environ, folder):
        yield address
