"""Spark finds ``format("pravega")`` by itself, with its own settings, and its progress can be followed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pravega_lab.client import connect
from pravega_lab.connector.spark import submit
from pravega_lab.connector.spark.session.java import find_java

JOB = Path(__file__).parents[1] / "jobs" / "plain_session.py"
ROOT = Path(__file__).resolve().parents[4]
#: In an installed package this is a folder of site-packages.
DISCOVERY = ROOT / "pravega_lab" / "connector" / "spark" / "discovery"


@pytest.mark.spark
@pytest.mark.slow
def test_no_registration_call_is_needed(store: str, scope_name: Callable[[], str], tmp_path: Path) -> None:
    scope = scope_name()
    with connect(store) as client:
        client.create_stream(f"{scope}/in").write([b"a", b"b", b"c"])
    environ = {
        "JAVA_HOME": str(find_java().home),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(DISCOVERY)]),
    }
    with submit(JOB, store, scope, str(tmp_path / "checkpoint"), env=environ) as driver:
        assert driver.wait(240) == 0, driver.log()[-3000:]
    [progress] = [batch for batch in driver.progress() if batch["numInputRows"]]
    assert progress["numInputRows"] == 3
    kinds = [line["kind"] for line in driver.lines()]
    assert (kinds[0], kinds[-1]) == ("started", "terminated")
    assert len({line["run"] for line in driver.lines()}) == 1
