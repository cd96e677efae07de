"""Two people in one notebook, as docs/views.md says: equal rows, and a clock and pins of one's own.

``PRAVEGA_LAB_COLLABORATION`` names a Python with jupyter-collaboration and the packages of the extra
``notebook``: the project does not install it, because it changes how JupyterLab stores every notebook.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.lab import ROOT, TOKEN, open_notebook, run_all, serving, write_notebook
from tests.browser.page import SHARED, WAIT_MS, clock, label, point, run_cell, seek, wait_drawn

SETUP = """
from tests.observe.examples import splitting_story
from pravega_lab.widgets import SegmentMap

board = SegmentMap(splitting_story().journal)
board
"""
PINNED = f"() => Boolean([...{SHARED}.clocks.values()][0].pin)"
NOW_S = f"(([c]) => (c.now - c.start) / 1000)([...{SHARED}.clocks.values()])"
NOTED = """
import asyncio
while round(board.clock.at_s or 0) != 10:
    await asyncio.sleep(0.05)  # until the page has said where it is
print("noted at 10 s")
"""


@pytest.fixture(scope="module")
def shared_lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    python = os.environ.get("PRAVEGA_LAB_COLLABORATION")
    if python is None:
        why = "TWO PEOPLE NOT TESTED: PRAVEGA_LAB_COLLABORATION names no Python with jupyter-collaboration"
        print(why, file=sys.stderr)
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("shared")
    write_notebook(folder / "shared.ipynb", SETUP)
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR")
    env = {**os.environ, **{name: str(folder / name.lower()) for name in names}, "PYTHONPATH": str(ROOT)}
    command = [python, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}"]
    with serving(command, folder, env) as (address, _):
        yield address


def seconds(page: Any) -> float:
    return round((float(clock(page, "now")) - float(clock(page, "start"))) / 1000, 2)


def test_two_people_see_equal_rows_and_have_their_own_clock_and_pins(browser: Any, shared_lab: str) -> None:
    contexts = [browser.new_context(viewport={"width": 1200, "height": 900}) for _ in range(2)]
    ann, ben = (context.new_page() for context in contexts)
    open_notebook(ann, shared_lab, "shared.ipynb")
    run_all(ann)
    wait_drawn(ann, 0)
    seek(ann, 10)
    run_cell(ann, NOTED)
    ann.get_by_text("noted at 10 s", exact=True).wait_for(timeout=WAIT_MS)
    ben.goto(f"{shared_lab}/lab/tree/shared.ipynb?token={TOKEN}")
    wait_drawn(ben, 0)
    assert label(ben, 0) == label(ann, 0)
    assert seconds(ben) == 10  # a page that is opened later begins where another one is
    seek(ann, 20)
    seek(ben, 5)
    point(ann, 0, 0.3, 0.5)
    ann.mouse.down()
    ann.mouse.up()
    ann.wait_for_function(PINNED, timeout=WAIT_MS)
    run_cell(ann, "board.clock.at_s, print('said by ann')")
    ben.get_by_text("said by ann", exact=True).wait_for(timeout=WAIT_MS)  # the notebook is one
    assert (seconds(ann), seconds(ben)) == (20, 5)
    assert not ben.evaluate(PINNED)
    run_cell(ann, "board.clock.seek(12.0)")
    for page in (ann, ben):
        page.wait_for_function(f"() => Math.round({NOW_S}) === 12", timeout=WAIT_MS)
    for context in contexts:
        context.close()
