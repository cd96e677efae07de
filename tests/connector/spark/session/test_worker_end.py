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


@pytest.mark.slow
@pytest.mark.parametrize("loaded", [OF_A_TASK, OF_A_PLAN], ids=["task", "plan"])
def test_an_idle_worker_whose_connection_is_closed_ends_without_a_word(loaded: str) -> None:
    code = f"""
import socket, sys
{loaded}
worker, jvm = socket.socketpair()
jvm.close()
print(daemon.worker(worker, True))
"""
    environ = {**os.environ, **SPARKS}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
