"""What ``pravega-lab doctor`` says about Spark, by what this machine has."""

from __future__ import annotations

import sys
from importlib.metadata import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from pravega_lab.connector.spark.session import java
from pravega_lab.errors import SetupError
from pravega_lab.terminal import doctor
from tests.connector.spark.session.other_python import make_other_python
from tests.pythons import VERSIONS


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)  # a probe sees the modules of the current folder, as Spark's workers do


def levels() -> list[tuple[str, str]]:
    return [(finding.name, finding.level) for finding in doctor.check_spark()]


@pytest.mark.parametrize(
    ("version", "level", "remedy"),
    [
        ((3, 10, 13), "red", "install Python 3.11 or newer"),
        ((3, 11, 0), "ok", ""),
        ((3, 14, 9), "ok", ""),
        ((3, 15, 0), "note", "tested with 3.11 to 3.14"),
    ],
)
def test_a_python_newer_than_the_tested_ones_is_noted(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...], level: str, remedy: str
) -> None:
    monkeypatch.setattr(doctor, "sys", SimpleNamespace(version_info=version))
    (finding,) = doctor.check_python()
    assert (finding.level, finding.remedy) == (level, remedy)


def test_the_tested_pythons_are_those_of_the_package_and_of_make_pythons() -> None:
    classifiers = metadata("pravega-lab").get_all("Classifier") or []
    named = [name.rpartition(" ")[2] for name in classifiers if ":: Python :: 3." in name]
    assert named == list(VERSIONS)
    tested = [tuple(map(int, version.split("."))) for version in named]
    assert (tested[0], tested[-1]) == (doctor.PYTHON_MIN, doctor.PYTHON_TESTED_MAX)


def test_the_python3_of_the_path_is_compared_with_this_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_other_python(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    workers, discovery = doctor.check_spark()
    assert (workers.level, discovery.level) == ("note", "note")
    assert "(PATH): this Python does not have pravega_lab, pyarrow, grpc" in workers.found
    assert f"export PYSPARK_PYTHON={sys.executable}" in workers.remedy
    assert "register(spark)" in discovery.remedy


def test_this_python_is_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    workers, _ = doctor.check_spark()
    assert workers.level == "ok"
    assert workers.found == f"{sys.executable} (PYSPARK_PYTHON), of this environment"


def test_a_wrong_variable_and_a_wrong_setting_are_red(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", "true")
    (tmp_path / "spark-defaults.conf").write_text(f"spark.pyspark.python {tmp_path / 'none'}\n")
    assert levels() == [
        ("spark workers", "red"),
        ("spark workers", "ok"),
        ("spark workers", "red"),
        ("spark discovery", "note"),
    ]


def test_without_pyspark_nothing_of_spark_is_ok_and_nothing_red(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java() -> java.Java:
        raise SetupError("none was found")

    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setattr(java, "find_java", no_java)
    found = [*doctor.check_spark(), *doctor.check_java()]
    assert [(finding.name, finding.level) for finding in found] == [("spark", "note"), ("java", "note")]
    assert "pip install 'pravega-lab[spark]'" in found[0].found


def test_an_older_spark_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "3.5.1")
    assert levels() == [("spark", "red")]


def test_a_browser_that_does_not_run_is_a_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command ended with its error, and showed nothing of what it had found."""
    browser = tmp_path / doctor.BROWSERS[0]
    browser.write_text("no program")
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    [found] = doctor.check_browser()
    assert found.level == "note"
    assert "does not run: [Errno 8] Exec format error" in found.found
    assert found.remedy
