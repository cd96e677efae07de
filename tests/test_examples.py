"""The examples of the reference run as printed, and the names that users meet first all have one."""

from __future__ import annotations

import doctest
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.tutorials.recording import recorded

SITE = Path(__file__).parent.parent / "docs/site"
sys.path.insert(0, str(SITE))
examples: Any = import_module("examples")
reference: Any = import_module("reference_pages")
#: The pages of the reference on which every name has an example.
COVERED = ["pravega_lab", "Client", "Views", "Testing", "Tutorials"]


@pytest.mark.parametrize("title", COVERED)
def test_every_name_of_the_page_has_an_example(title: str) -> None:
    shown = examples.examples(reference._file(title))
    names = [
        name for module in reference.MODULES[title] for name in reference.public_names(import_module(module))
    ]
    assert [name for name in names if not shown.get(name)] == []
    assert [name for name in shown if name not in names] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", examples.pages())
def test_the_examples_of_a_page_run(page: str, store: str, tmp_path: Path) -> None:
    names = {"uri": store, "folder": tmp_path, "recording": Path(recorded.__path__[0]) / "run-3.jsonl.gz"}
    path = examples.FOLDER / f"{page}.txt"
    test = doctest.DocTestParser().get_doctest(path.read_text(), names, page, str(path), 0)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert result.failed == 0, "".join(said)
    assert result.attempted > 3
