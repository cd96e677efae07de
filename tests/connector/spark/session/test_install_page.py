"""The programs of docs/install.md run as printed, with another address."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.client import connect
from pravega_lab.connector.spark.session.java import find_java
from tests.connector.spark.session.other_python import ROOT, make_other_python

PAGE = (ROOT / "docs" / "install.md").read_text()
WORDS, PIPELINE, MORE_WORDS, OWN_SESSION = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
TRY = """
try:
    spark.read.format("pravega").load()
except Exception as error:
    print("DATA_SOURCE_NOT_FOUND" in str(error))
"""


def here(program: str, store: str, scope: str) -> str:
    found = program.replace("tcp://localhost:9090", store).replace("demo/", f"{scope}/")
    return found.replace('"demo"', f'"{scope}"')


@pytest.mark.spark
def test_the_first_pipeline_copies_each_word_once(
    spark: Any,
    store: str,
    scope_name: Callable[[], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scope = scope_name()
    pipeline = PIPELINE.replace('"checkpoint"', repr(str(tmp_path)))
    for program in (WORDS, pipeline, MORE_WORDS, pipeline):
        exec(here(program, store, scope), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"It prints `(\[.*?)`", PAGE)


@pytest.mark.spark
@pytest.mark.slow
def test_register_is_enough_where_the_environment_is_not_activated(
    store: str, scope_name: Callable[[], str], tmp_path: Path
) -> None:
    scope = scope_name()
    with connect(store) as client:
        client.create_stream(f"{scope}/words").write([b"a", b"b"])
    other = make_other_python(tmp_path)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environ |= {
        "JAVA_HOME": str(find_java().home),
        "PATH": f"{other.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    program = here(OWN_SESSION, store, scope).replace("register(spark)\n", f"{TRY}register(spark)\n")
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == ["True", "2"]
