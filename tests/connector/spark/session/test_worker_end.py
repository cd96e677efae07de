"""A Python process of Spark prints nothing when the JVM closes its connection, as it does at its end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
#: Spark sets the variable. The daemon then raises what it would print otherwise.
SPARKS = {"PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1", "PYTHONPATH": str(ROOT)}
OF_A_TASK = """
from pravega_lab.connector.spark.session import worker_daemon
daemon = worker_daemon.load()
"""
OF_A_PLAN = """
import pyspark.daemon as daemon
sys.modules["__main__"] = daemon
sys.argv[1:] = ["pyspark.sql.worker.plan_data_source_read"]
import pravega_lab.connector.spark.data_source
"""


OF_A_SOURCE = """
import pyspark.sql.streaming.python_streaming_source_runner as runner
sys.modules["__main__"] = runner
import pravega_lab.connector.spark.data_source
"""


def errors(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import socket, sys\n{code}"],
        env={**os.environ, **SPARKS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("loaded", [OF_A_TASK, OF_A_PLAN], ids=["task", "plan"])
def test_an_idle_worker_whose_connection_is_closed_ends_without_a_word(loaded: str) -> None:
    closed = """
worker, jvm = socket.socketpair()
jvm.close()
daemon.worker(worker, True)
"""
    assert errors(loaded + closed) == ""


@pytest.mark.slow
def test_the_source_of_a_query_that_is_stopped_ends_without_a_word() -> None:
    closed = """
worker, jvm = socket.socketpair()
jvm.close()
with worker.makefile("rwb") as file:
    runner.main(file, file)
"""
    assert errors(OF_A_SOURCE + closed) == ""
    assert "ValueError: of another kind" in errors(OF_A_SOURCE + "raise ValueError('of another kind')")
