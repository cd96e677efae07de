"""JupyterLite from a plain file server, with no other host to ask: tutorials run as they do at home."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.files import Files
from tests.browser.lab import KERNEL_IDLE, OUTPUTS, RUN_S, run_all
from tests.browser.page import Errors, wait_drawn
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


@pytest.mark.parametrize("number", TUTORIALS if ALL else TUTORIALS[:1])
def test_a_tutorial_runs_and_shows_what_is_stored(browser: Any, site: str, number: str) -> None:
    (path,) = (ROOT / "notebooks").glob(f"{number}-*.ipynb")
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page, errors, began = context.new_page(), Errors(), time.monotonic()
    page.on("pageerror", lambda error: errors.append(f"{error}\n{error.stack}"))
    page.goto(f"{site}lab/index.html?path={path.name}")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=RUN_S * 1000)
    page.wait_for_function(KERNEL_IDLE, timeout=START_S * 1000)
    run_all(page, START_S + 60)
    ran_s = time.monotonic() - began
    cells = cells_of(path)
    for cell, outputs in zip(cells, page.evaluate(OUTPUTS), strict=True):
        if "nbval-ignore-output" not in cell["metadata"].get("tags", ()):
            assert shown(outputs) == shown(cell["outputs"]), "".join(cell["source"])
    if page.locator(".plab-canvas").count():
        wait_drawn(page, 0)
    assert {urlsplit(url).netloc for url in asked if url.startswith("http")} == {urlsplit(site).netloc}
    assert errors == []
    print(f"tutorial {number}: all cells had run {ran_s:.0f} s after opening")
    context.close()
