"""Which Python runs Spark's workers: what is found, what is set, and what errors say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pravega_lab.connector.spark.worker_python import (
    WorkerPython,
    probe,
    remedy,
    search_python,
    set_worker_python,
    submit_python,
    tasks_python,
)
from pravega_lab.errors import SetupError
from tests.connector.spark.session.other_python import ROOT, make_other_python

PATH = WorkerPython("python3", "PATH")


def session(python: str, master: str = "local[2]") -> SimpleNamespace:
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, pythonExec=python))


@pytest.mark.parametrize(
    ("environ", "search", "tasks"),
    [
        ({}, PATH, PATH),
        ({"PYSPARK_PYTHON": "a"}, *[WorkerPython("a", "PYSPARK_PYTHON")] * 2),
        ({"PYSPARK_DRIVER_PYTHON": "b"}, WorkerPython("b", "PYSPARK_DRIVER_PYTHON"), PATH),
        (
            {"PYSPARK_PYTHON": "a", "PYSPARK_DRIVER_PYTHON": "b"},
            WorkerPython("b", "PYSPARK_DRIVER_PYTHON"),
            WorkerPython("a", "PYSPARK_PYTHON"),
        ),
    ],
)
def test_variables_decide_as_they_do_in_spark(
    environ: dict[str, str], search: WorkerPython, tasks: WorkerPython
) -> None:
    assert (search_python(environ), tasks_python(environ)) == (search, tasks)


def test_the_setting_is_read_where_spark_submit_reads_it(tmp_path: Path) -> None:
    assert submit_python({"SPARK_CONF_DIR": str(tmp_path)}) is None
    (tmp_path / "conf").mkdir()
    file = tmp_path / "conf" / "spark-defaults.conf"
    file.write_text(
        "#spark.pyspark.python /n\nspark.pyspark.driver.python /d\nspark.pyspark.python\t/a/python \n"
    )
    expected = WorkerPython("/a/python", f"spark.pyspark.python in {file}")
    assert submit_python({"SPARK_CONF_DIR": str(file.parent)}) == expected
    assert submit_python({"SPARK_HOME": str(tmp_path)}) == expected


def test_a_probe_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a probe sees the modules of the current folder, as Spark's workers do
    own = probe(sys.executable)
    assert (own.fault, own.is_own) == ("", True)
    other = probe(str(make_other_python(tmp_path)))
    assert other.fault == "does not have pravega_lab, pyarrow, grpc"
    assert (other.discovers, other.is_own) == (False, False)
    assert "cannot be run" in probe(str(tmp_path / "none")).fault
    assert probe("true").fault == "is not a Python interpreter"


def test_another_minor_version_is_a_fault(tmp_path: Path) -> None:
    found = {"executable": "/x", "prefix": "/", "version": [3, 9], "missing": [], "discovers": True}
    program = tmp_path / "python3"
    program.write_text(f"#!/bin/sh\necho '{json.dumps(found)}'\n")
    program.chmod(0o755)
    assert probe(str(program)).fault.startswith("is Python 3.9, and the driver is Python 3.")


def test_the_remedy_sets_what_decides() -> None:
    here = sys.executable
    assert remedy(PATH, {}).startswith(f"export PYSPARK_PYTHON={here}, or activate")
    set_both = f"export PYSPARK_PYTHON={here} PYSPARK_DRIVER_PYTHON={here}"
    driver = {"PYSPARK_DRIVER_PYTHON": "jupyter"}
    assert remedy(search_python(driver), driver) == set_both
    assert remedy(WorkerPython("/a", "spark.pyspark.python in /f"), {}) == f"set it to {here}"


def test_a_local_session_takes_this_python_unless_the_user_chose_one_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spark = session("python3")
    set_worker_python(spark)
    assert spark.sparkContext.pythonExec == sys.executable
    chosen = tmp_path / "mine"
    chosen.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    chosen.chmod(0o755)
    spark = session(str(chosen))
    set_worker_python(spark)
    assert spark.sparkContext.pythonExec == str(chosen)
    other = make_other_python(tmp_path)
    with pytest.raises(
        SetupError, match=rf"'{other}', as PYSPARK_PYTHON .* does not have pravega_lab.*set it"
    ):
        set_worker_python(session(str(other)))


def test_a_cluster_and_spark_connect_keep_their_python() -> None:
    spark = session("python3", "spark://host:7077")
    set_worker_python(spark)
    assert spark.sparkContext.pythonExec == "python3"
    set_worker_python(SimpleNamespace())


def test_a_worker_without_the_packages_says_which_python_it_is() -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    code = "from pravega_lab.connector.spark.worker_python import check_packages; check_packages()"
    done = subprocess.run(
        [base, "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stderr.splitlines()[-1]
    assert "the Python of Spark's workers, which does not have pyarrow, grpc. Set PYSPARK_PYTHON" in said
