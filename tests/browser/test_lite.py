"""JupyterLite from a plain file server, with no other host to ask: tutorials run as they do at home."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.files import Files
from tests.browser.lab import KERNEL_IDLE, OUTPUTS, RUN_S, run_all
from tests.browser.page import WAIT_MS, Errors, last_output, run_cell, view, wait_drawn
from tests.journals import hashes
from tests.tutorials.cells_in_light import cells_of, shown

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venvs" / "lite"
sys.path.insert(0, str(ROOT / "build_backend"))
from build_lite import TUTORIALS  # noqa: E402

ALL = bool(os.environ.get("PRAVEGA_LAB_LITE_ALL"))  # `make lite-test`
START_S = 120


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site."""
    if not (ENVIRONMENT / ".installed").exists() or not (ROOT / "node_modules" / "pyodide").is_dir():
        pytest.skip("JupyterLite is not here: `make lite` installs it")
    folder = tmp_path_factory.mktemp("site") / "lite"
    command = [ENVIRONMENT / "bin" / "python", ROOT / "build_backend" / "build_lite.py"]
    subprocess.run([*command, ENVIRONMENT / "wheels", folder], check=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def opened(browser: Any, site: str) -> Iterator[Callable[[str], Any]]:
    """Opens a tutorial and runs its cells, once, and gives its page, on which nothing may fail."""
    errors, asked = Errors(), list[str]()

    @cache
    def run(number: str) -> Any:
        context, began = browser.new_context(viewport={"width": 1300, "height": 1000}), time.monotonic()
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(f"{error}\n{error.stack}"))
        page.goto(f"{site}lab/index.html?path={notebook(number).name}")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=RUN_S * 1000)
        page.wait_for_function(KERNEL_IDLE, timeout=START_S * 1000)
        run_all(page, START_S + 60)
        print(f"tutorial {number}: all cells had run {time.monotonic() - began:.0f} s after opening")
        return page

    yield run
    assert errors == []
    assert {urlsplit(url).netloc for url in asked if url.startswith("http")} == {urlsplit(site).netloc}


def notebook(number: str) -> Path:
    (path,) = (ROOT / "notebooks").glob(f"{number}-*.ipynb")
    return path


@pytest.mark.parametrize("number", TUTORIALS if ALL else TUTORIALS[:1])
def test_a_tutorial_runs_and_shows_what_is_stored(opened: Callable[[str], Any], number: str) -> None:
    page = opened(number)
    for cell, outputs in zip(cells_of(notebook(number)), page.evaluate(OUTPUTS), strict=True):
        if "nbval-ignore-output" not in cell["metadata"].get("tags", ()):
            assert shown(outputs) == shown(cell["outputs"]), "".join(cell["source"])
    if page.locator(".plab-canvas").count():
        wait_drawn(page, 0)
    if number != TUTORIALS[0]:
        page.context.close()


def test_a_seed_has_the_same_journal_in_chromium(opened: Callable[[str], Any]) -> None:
    scenarios = ("writers", "groups", "race")
    module = ROOT / "tests" / "journals.py"
    with ThreadPoolExecutor(1) as apart:  # a loop of playwright's runs in this thread
        here = apart.submit(hashes, [1], scenarios)
        page = opened(TUTORIALS[0])
        run_cell(page, JOURNALS.format(module.read_text(), scenarios))
        assert json.loads(last_output(page)) == here.result()


JOURNALS = """
import json
from pravega_lab.portable.alone import without_loop

module = {{"__name__": "journals", "__file__": "/tests/journals.py"}}
exec({!r}, module)
with without_loop():
    print(json.dumps(module["hashes"]([1], {})))
"""


def test_a_lab_has_a_store_in_the_page(opened: Callable[[str], Any]) -> None:
    page = opened(TUTORIALS[0])
    n_views = page.locator(".plab").count()
    run_cell(page, LAB)
    wait_drawn(page, n_views)
    run_cell(page, LAB_GROWS)
    assert last_output(page).split() == ["2000", "3", "[]"]
    condition = "(n) => (document.querySelectorAll('.plab')[n].dataset.updates) > 1"
    page.wait_for_function(condition, arg=n_views, timeout=WAIT_MS)


LAB = """
import gc
from pravega_lab import Lab, ScalingPolicy

lab = Lab()
stream = lab.create_stream("page/events", scaling=ScalingPolicy.fixed(2))
lab.show(stream)
"""
LAB_GROWS = """
stream.write([f"event {n}" for n in range(2_000)], [f"key {n % 50}" for n in range(2_000)])
stream.split(stream.segments()[0].segment_id)
watch = lab.observe(stream)
watch.look()
with stream.read() as batches:
    print(sum(map(len, batches)), len(stream.segments()), watch.trouble)
for _ in range(5):
    gc.collect()  # while the observer waits
lab.close()
"""


def test_a_live_view_grows_while_cells_run(opened: Callable[[str], Any]) -> None:
    page = opened(TUTORIALS[0])
    n_views = page.locator(".plab").count()
    run_cell(page, GROWING)
    wait_drawn(page, n_views)
    before = int(view(page, n_views).get_attribute("data-seq"))
    run_cell(page, "job.to(2_500)\nprint(max(job.run.journal.since(), key=lambda o: (o.time_ms, o.seq)).seq)")
    newest = int(last_output(page))
    assert newest > before
    condition = "([n, seq]) => Number(document.querySelectorAll('.plab')[n].dataset.seq) === seq"
    page.wait_for_function(condition, arg=[n_views, newest], timeout=WAIT_MS)


GROWING = """
from pravega_lab.engine.flow.checkpoint.history import Finishing
from pravega_lab.tutorials.final_checkpoints import MixedJob
from pravega_lab.widgets import CheckpointTimeline

job = MixedJob(Finishing.FLIP_147).to(500)
CheckpointTimeline(job.run)
"""
