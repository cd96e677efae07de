"""The home of Spark in a session of this machine: without the archives that make Python processes slow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from pravega_lab.connector.spark.session.session import home_without_archives

INSTALLED = Path(pyspark.__file__).parent


def test_the_home_has_links_and_no_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):  # the second session finds what the first one made
        home = Path(home_without_archives({})["SPARK_HOME"])
        assert home.is_relative_to(tmp_path)
        assert (home / "bin" / "spark-submit").samefile(INSTALLED / "bin" / "spark-submit")
        assert (home / "jars").samefile(INSTALLED / "jars")
        assert not (home / "python").exists()


def test_a_home_that_is_set_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert home_without_archives({"SPARK_HOME": "/opt/spark"}) == {}
    assert not list(tmp_path.iterdir())


def test_without_a_cache_folder_spark_has_its_own_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert home_without_archives({}) == {}


SCRIPT = """
import json, os
from pravega_lab.connector.spark import create_session

spark = create_session("home", fast_workers=False, conf={"spark.master": "local[1]"})
path = spark._jvm.org.apache.spark.api.python.PythonUtils.sparkPythonPath().split(os.pathsep)
[file] = spark.range(1).rdd.map(lambda row: __import__("pyspark").__file__).collect()
print(json.dumps([[one for one in path if one.endswith(".zip") and os.path.exists(one)], file]))
assert "SPARK_HOME" not in os.environ
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.slow
def test_processes_of_a_session_import_the_installed_pyspark() -> None:
    environ = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    archives, file = json.loads(done.stdout.splitlines()[-1])
    assert archives == []
    assert Path(file).parent == INSTALLED
