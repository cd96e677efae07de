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


def test_a_cell_that_was_changed_counts_as_the_same_cell(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(IMPORTS, cell_id="a")
    shell.run_cell("made = 1", cell_id="b")
    shell.run_cell("made = 0", cell_id="b")
    shell.run_cell("1 / made", cell_id="c")
    assert reruns.HINT in capsys.readouterr().out
