"""The hint after cells of a tutorial ran more than once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from pravega_lab.tutorials.learning import reruns

IMPORTS = "from pravega_lab.tutorials.learning.reruns import watch_cells; watch_cells()"


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    try:
        yield InteractiveShell.instance()
    finally:
        InteractiveShell.clear_instance()


def test_a_cell_that_fails_after_cells_ran_twice_gets_a_hint(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    once = "made = globals().get('made', 0) + 1\nassert made == 1"
    for cell in (IMPORTS, once, "1 / 0"):
        shell.run_cell(cell)
    assert reruns.HINT not in capsys.readouterr().out  # each ran once: the error is the reader's own
    shell.run_cell(once)
    assert reruns.HINT in capsys.readouterr().out
    shell.run_cell("made")
    assert reruns.HINT not in capsys.readouterr().out
    shell.run_cell("assert made == 1  # a cell below it")
    assert reruns.HINT in capsys.readouterr().out


def test_a_cell_may_be_changed_and_tried_until_it_works(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(IMPORTS, cell_id="a")
    for answer in ("answer = 1", "answer = 2"):
        shell.run_cell(answer, cell_id="b")
    for _ in range(2):
        shell.run_cell("assert answer == 3", cell_id="c")
    assert reruns.HINT not in capsys.readouterr().out
