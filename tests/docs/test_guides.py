"""The how-to guides: their Python runs as printed, on the store of the tests."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.certificates import make_certificates
from tests.conformance.real_pravega import NoRealPravegaError, jars
from tests.conformance.secure.pravega import ADMIN, ADVERTISED, SecurePravega
from tests.conformance.secure.store import SecureStore
from tests.spark.jvm import options

DOCS = Path(__file__).parents[2] / "docs"
EXACTLY_ONCE = DOCS / "howto/exactly-once.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
HIDDEN = "pravega-segmentstore-0.svc"  # in docs/cluster.md
FILE = re.compile(r"# (\w+\.py)\n")


def run_page(name: str, folder: Path, names: dict[str, Any]) -> dict[str, Any]:
    """Run the blocks of a page in their order, in ``folder``; a block that names a file becomes that file."""
    text = (DOCS / name).read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks
    for block in blocks:
        if named := FILE.match(block[1]):
            (folder / named[1]).write_text(block[1])
            if re.search(r"sys\.argv\[1:3\]", block[1]):
                continue  # a script for another process
        line = text[: block.start()].count("\n") + 1  # so that a traceback names the line of the page
        exec(compile("\n" * line + block[1], name, "exec"), names)
    return names


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a guide, from which it may also import."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lesson", raising=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", ["howto/incident.md", "howto/watch-group.md"])
def test_a_guide_runs_as_printed(page: str, folder: Path, store: str) -> None:
    run_page(page, folder, {"uri": store})


@pytest.mark.slow
@pytest.mark.real_pravega
def test_a_java_program_is_watched_as_printed(folder: Path, store: str) -> None:
    if shutil.which("javac") is None:
        pytest.skip("NOT TRIED WITH A JAVA PROGRAM: no javac on the PATH")
    try:
        library = jars()
    except NoRealPravegaError as error:
        pytest.skip(f"NOT TRIED WITH A JAVA PROGRAM: {error}")
    text = (DOCS / "howto/watch-java.md").read_text()
    [program] = re.findall(r"```java\n(.*?)```", text, re.DOTALL)
    (folder / "Orders.java").write_text(program)
    run_page("howto/watch-java.md", folder, {"uri": store, "jars": library})


@pytest.mark.slow
def test_the_guide_for_teachers_runs_as_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("teaching.md", folder, {})
    assert "It is 0." in capsys.readouterr().out


@pytest.mark.slow
def test_a_topic_is_copied_with_the_order_of_its_keys(
    folder: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / "howto/kafka.md").read_text()
    export, script, verify = BLOCK.findall(text)
    names: dict[str, Any] = {"uri": store}
    exec(export, names)
    (folder / "copy_topic.py").write_text(script)
    command = [sys.executable, "copy_topic.py", store, "kafka-guide/orders", "orders.jsonl"]

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)

    misspelt = run([*command, "orders-2.jsonl"])
    assert "No such file or directory: 'orders-2.jsonl'" in misspelt.stderr  # and the next copy is the first
    done = run(command)
    assert done.stdout == "300 events copied\n", done.stderr
    exec(verify, names)
    assert capsys.readouterr().out == "300 events of 20 keys, in the order of each key\n"
    again = run(command)
    assert again.returncode == 1
    assert "is there already" in again.stderr


@pytest.fixture(scope="module", params=["embedded", pytest.param("real", marks=pytest.mark.real_pravega)])
def secure(request: pytest.FixtureRequest) -> Iterator[SecureStore | SecurePravega]:
    """A store with TLS and passwords: ours, and a released Pravega."""
    try:
        server = SecureStore() if request.param == "embedded" else SecurePravega("768m")
        server.start()
    except NoRealPravegaError as error:
        pytest.skip(f"NOT TRIED ON A REAL PRAVEGA WITH TLS AND AUTHENTICATION: {error}")
    yield server
    server.stop()


@pytest.mark.slow
def test_the_guide_to_tls_runs_as_printed(
    folder: Path, secure: SecureStore | SecurePravega, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (folder / "ca.pem").write_bytes(Path(secure.ca_file).read_bytes())
    other_ca = make_certificates(tmp_path_factory.mktemp("other"), ["DNS:localhost"])
    user, password = ADMIN
    known = {"uri": secure.uri, "user": user, "password": password, "other_ca": other_ca}
    run_page("howto/tls.md", folder, {**known, "rewrite": {ADVERTISED: "127.0.0.1"}})
    connected = BLOCK.findall((DOCS / "cluster.md").read_text())[0]  # with the files of the guide
    for printed, here in (("tls://pravega.example.com:9090", secure.uri), (HIDDEN, ADVERTISED)):
        assert printed in connected
        connected = connected.replace(printed, here)
    names: dict[str, Any] = {}
    exec(connected, names)
    with names["client"] as client:
        assert "_system" in client.list_scopes()


@pytest.mark.spark
@pytest.mark.slow
def test_the_guide_to_exactly_once_runs_as_printed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", options())
    names = run_page("howto/exactly-once.md", folder, {})
    assert "lost: 0 doubled: 0 runs of the job: 2\n" in capsys.readouterr().out
    [other_moments] = re.findall(r"## Other moments to try\n\n((?:- .*\n)+)", EXACTLY_ONCE.read_text())
    held = re.findall(r'proxy\.hold\("(\w+)"\)', other_moments)
    assert len(held) == 3
    assert set(held) <= set(names["proxy"].seen)


@pytest.mark.spark
@pytest.mark.slow
def test_the_guide_to_exactly_once_doubles_without_its_option(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The three changes that the page asks for."""
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", options())
    text = EXACTLY_ONCE.read_text()
    job, kill, verify = BLOCK.findall(text)
    option, checkpoint = (
        '    .option("exactly_once", "false")\n',
        '    .option("checkpointLocation", checkpoint)\n',
    )
    assert option.strip() in text
    (folder / "job.py").write_text(job.replace(checkpoint, option + checkpoint))
    hold = 'proxy.hold("DataAppended")'
    assert hold in text
    kill = kill.replace('proxy.hold("TableEntriesUpdated", nth=2)', hold).replace('"checkpoint"', '"without"')
    assert hold in kill
    names: dict[str, Any] = {}
    exec(kill, names)
    with names["lab"], pytest.raises(AssertionError):
        exec(verify, names)
    assert re.search(r"lost: 0 doubled: [1-9]\d* runs of the job: 2\n", capsys.readouterr().out)
