"""Importing the connector opens nothing: Spark forks worker processes after that.

The thread that compiles framing may still run on a busy machine. A fork waits for its present step, which
`tests/client/framing/test_compilation.py` checks, so it does not count here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
OTHER_THREADS = "len([t for t in threading.enumerate() if t.name != 'pravega-compile'])"
DISCOVERY = ROOT / "pravega_lab" / "connector" / "spark" / "discovery"


def run(code: str) -> str:
    paths = os.pathsep.join([str(ROOT), str(DISCOVERY)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "pravega_lab.connector.spark",
        "pravega_lab.connector.spark.data_source",
        "pravega_lab.connector.spark.sink.writer",
        "pravega_lab.connector.spark.session.worker_imports",
        "pyspark_pravega",
    ],
)
def test_an_import_starts_no_grpc_loop_or_thread(module: str) -> None:
    code = f"""
import sys, threading, os, socket
opened = []
sys.addaudithook(lambda event, args: opened.append(event) if event.startswith("socket.") else None)
import {module}
from pravega_lab.client import loop_thread
print("grpc" in sys.modules, {OTHER_THREADS}, len(loop_thread._by_process), opened)
"""
    assert run(code) == "False 1 0 []"


def test_the_package_alone_imports_no_pyspark() -> None:
    """Spark's zip would be imported from before the worker daemon can prefer the installed package."""
    assert (
        run("import sys, pravega_lab.connector.spark.session.worker_daemon; print('pyspark' in sys.modules)")
        == "False"
    )


@pytest.mark.slow
def test_the_worker_daemon_forks_a_single_thread_without_grpc() -> None:
    code = f"""
import sys, threading
sys.path.append("/x/pyspark.zip")
from pravega_lab.connector.spark.session import worker_daemon
daemon = worker_daemon.load()
print("grpc" in sys.modules, {OTHER_THREADS}, daemon.__name__, "/x/pyspark.zip" in sys.path)
"""
    assert run(code) == "False 1 pyspark.daemon False"


def test_discovery_survives_whatever_is_wrong_and_says_it_when_asked() -> None:
    code = """
import sys
sys.modules["pravega_lab.connector.spark.data_source"] = None
import pyspark_pravega
print(pyspark_pravega.DefaultSource.name())
try:
    pyspark_pravega.DefaultSource({})
except RuntimeError as error:
    print(error)
"""
    name, said = run(code).splitlines()
    assert name == "pravega"
    assert f"cannot run in '{sys.executable}', the Python of Spark's workers" in said
    assert "data_source" in said
    assert "set PYSPARK_PYTHON" in said


def test_discovery_of_an_older_spark_names_the_version_needed() -> None:
    code = """
import pyspark
pyspark.__version__ = "4.0.1"
import pyspark_pravega
try:
    pyspark_pravega.DefaultSource({})
except Exception as error:
    print(type(error).__name__, error)
"""
    said = run(code)
    assert "SetupError: Spark 4.0.1 was found" in said
    assert "pravega-connectors-spark" in said
