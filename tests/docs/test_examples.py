"""The examples of the reference run as printed, and the names that users meet first all have one."""

from __future__ import annotations

import doctest
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.tutorials.recording import recorded
from tests.spark.session import two_cores
from tests.standalone import Standalone, logged_url

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs/site"
sys.path.insert(0, str(SITE))
constants: Any = import_module("constants")
examples: Any = import_module("examples")
reference: Any = import_module("reference_pages")


class Shortened(doctest.OutputChecker):
    """Compares errors by class and message, as readers see them: without the module of the class."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, re.sub(r"^(\w+\.)+(?=\w+(:|$))", "", got), optionflags)


@pytest.fixture(scope="module")
def registry_uri() -> Iterator[str]:
    with (registry := Standalone("--memory", "--registry-port", "0")):
        yield logged_url(registry, "registry_open")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The session that `create_session()` in an example returns."""
    yield from two_cores()


#: What the examples of a page use besides `uri`, `folder` and `recording`.
FIXTURES = {
    "pravega_lab": ["spark"],
    "schema-registry": ["registry_uri"],
    "errors": ["registry_uri", "spark"],
    "spark-connector": ["spark"],
    "engine-on-spark": ["spark"],
}
#: The pages whose examples start a driver of Spark in a process of its own.
WITH_DRIVER = {"main-job"}
WITH_SPARK = WITH_DRIVER | {page for page, fixtures in FIXTURES.items() if "spark" in fixtures}
PAGES = [
    pytest.param(page, marks=pytest.mark.spark) if page in WITH_SPARK else page for page in examples.pages()
]


def test_every_name_has_an_example_in_the_order_of_its_page() -> None:
    for title, listed in reference.entries().items():
        shown = [name for example in examples.examples(reference._file(title)) for name in example.names]
        assert shown == [entry.name for entry in listed if not entry.elsewhere], title


def test_every_constant_is_described_by_a_comment() -> None:
    """Without it, the reference would repeat what the docstring of ``int`` or ``str`` says."""
    listed = [
        (entry.module.__name__, entry.name)
        for page in reference.entries().values()
        for entry in page
        if reference._directive(getattr(entry.module, entry.name)) == "autodata" and not entry.elsewhere
    ]
    assert len(listed) > 15
    assert [name for name in listed if not constants.words_of(*name)] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(
    page: str,
    store: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"uri": store, "folder": tmp_path, "recording": Path(recorded.__path__[0]) / "run-3.jsonl.gz"}
    names |= {name: request.getfixturevalue(name) for name in FIXTURES.get(page, ())}
    path = examples.FOLDER / f"{page}.txt"
    test = doctest.DocTestParser().get_doctest(path.read_text(), names, page, str(path), 0)
    said: list[str] = []
    result = doctest.DocTestRunner(Shortened(), optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert result.failed == 0, "".join(said)
    assert result.attempted > 3


#: Modules that pages describe, and not the reference, as in test_notebooks.py.
ELSEWHERE = ("pravega_lab.tutorials.", "pravega_lab.cli", "pravega_lab.portable.frames")
IMPORT = re.compile(r"^from (pravega_lab[\w.]*) import (?:\(([^)]*)\)|([\w, ]+))", re.MULTILINE)


def test_every_name_that_a_page_imports_is_in_the_reference() -> None:
    """test_notebooks.py asks the same of the tutorials."""
    described = {id(getattr(e.module, e.name)) for listed in reference.entries().values() for e in listed}
    missing, found = set(), 0
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/howto/*.md")]:
        blocks = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
        for module, several, line in IMPORT.findall(blocks):
            if module.startswith(ELSEWHERE):
                continue
            for name in re.findall(r"\w+", re.sub(r"#.*", "", several or line)):
                found += 1
                if id(getattr(import_module(module), name)) not in described:
                    missing.add(f"{page.name}: {module}.{name}")
    assert found > 60
    assert missing == set()
