"""The examples of docs/registry.md, run on a store with a registry."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.standalone import Standalone, logged_url

PAGE = Path(__file__).parents[2] / "docs" / "registry.md"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    store = Standalone("--memory", "--registry-port", "0")
    with store:
        yield logged_url(store, "registry_open")


def block(language: str, word: str) -> str:
    """The example with a word in it."""
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return next(str(example) for example in found if word in example)


def test_the_example_of_python(url: str) -> None:
    names: dict[str, object] = {}
    exec(block("python", "Deserializer(registry").replace("http://localhost:9092", url), names)
    event = names["event"]
    assert isinstance(event, bytes)
    assert event.hex() == "0100000000ac02"


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on the PATH")
def test_the_example_of_curl(url: str) -> None:
    said = ""
    for call in block("", "curl").replace("localhost:9092", urlsplit(url).netloc).split("\ncurl "):
        command = ["curl", "-sS", "--max-time", "20", *shlex.split(call.removeprefix("curl "))]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert '"compatibility":{"policy":"Backward"}' in said
