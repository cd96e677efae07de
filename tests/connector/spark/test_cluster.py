"""The main job on a Spark standalone cluster, run with the commands of docs/cluster.md."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pravega_lab.client import ScalingPolicy, connect
from pravega_lab.datasets import flights
from pravega_lab.demo.run import CLOSING_EVENT, CLOSING_KEY
from pravega_lab.demo.verdict import check, read_json
from tests.spark.cluster import ROOT, daemons, environ_for_spark, free_port

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

VARIABLES, MASTER, WORKER_1, WORKER_2, SUBMIT = re.findall(
    r"^```sh\n(.*?)^```$", (ROOT / "docs" / "cluster.md").read_text(), re.MULTILINE | re.DOTALL
)
TABLES = ROOT / "docs" / "tables.md"
CATALOG_JOB = Path(__file__).parent / "jobs" / "read_catalog.py"
RUN_S_MAX = 300.0


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
    return environ_for_spark() | ours


@pytest.fixture
def cluster(environ: dict[str, str], tmp_path: Path) -> Iterator[None]:
    registered = "Successfully registered with master"
    lines = {
        "master": (MASTER, "I have been elected leader"),
        "worker-1": (WORKER_1, registered),
        "worker-2": (WORKER_2, registered),
    }
    with daemons(lines, environ, tmp_path):
        yield


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
        source_of_catalog = client.create_stream(f"{scope}/plain")
        source_of_catalog.write([b"a", b"b", b"a"])
    check_the_catalog(environ, scope)
    executors = sorted(Path(environ["SPARK_WORK"]).glob("*/app-*/*"))
    assert len(executors) >= 2


def check_the_catalog(environ: dict[str, str], scope: str) -> None:
    """A session that is not ours has the catalog by the line of docs/tables.md."""
    found = re.search(r"^```sh\n(spark-submit .*?)^```$", TABLES.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    conf = "--master $SPARK_MASTER --conf spark.executor.memory=512m --conf spark.ui.enabled=false"
    line = (
        found[1].replace("spark-submit", f"spark-submit {conf}").replace("job.py", f"{CATALOG_JOB} {scope}")
    )
    done = subprocess.run(
        ["bash", "-c", line], env=environ, capture_output=True, text=True, timeout=RUN_S_MAX, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "found a2 b1" in done.stdout
