"""The page on which the simulation runs: python -m benchmarks.page

Its bytes, as they are and packed by gzip. Seconds from opening it in headless Chromium, from the local disk,
until Python answers and until the first run is shown. Steps of a run per second in the page, and in CPython.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.common.run import Run, parser_of, rounds_of
from pravega_lab.tutorials.play.player import play
from pravega_lab.tutorials.play.spec import parse_link

ROOT = Path(__file__).resolve().parents[1]
LINKS = ("scenario=reader-dies&seed=3", "scenario=flip-27-gap&seed=3", "scenario=finished-task&seed=3")
WAIT_MS = 120_000
RATE, PAGE, HERE = "steps of {}, 1/s", "the page", "CPython"


class Files(SimpleHTTPRequestHandler):
    """Serves files as any static host does."""

    extensions_map: ClassVar = {
        **SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript", ".wasm": "application/wasm",
    }  # fmt: skip

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def one_visit(browser: Any, address: str, run: Run) -> None:
    """Open the page as on a first visit, and run each link in it."""
    context = browser.new_context(service_workers="block", reduced_motion="reduce")
    page, began = context.new_page(), time.perf_counter()
    page.goto(f"{address}#{LINKS[0]}")
    page.wait_for_selector("#status[data-stage=ready]", timeout=WAIT_MS)
    run.add("until Python answers, s", PAGE, time.perf_counter() - began)
    for n, link in enumerate(LINKS, 1):
        if n > 1:
            page.evaluate("(link) => { location.hash = '#' + link; }", link)
        page.wait_for_selector(f"#result[data-shown='{n}']", timeout=WAIT_MS)
        if n == 1:
            run.add("until the first run is shown, s", PAGE, time.perf_counter() - began)
        steps, seconds = page.evaluate(
            "() => { const d = document.getElementById('result').dataset; return [+d.steps, +d.seconds]; }"
        )
        run.add(RATE.format(parse_link(link).scenario), PAGE, steps / seconds)
    context.close()


def runs_here(run: Run) -> None:
    for link in LINKS:
        spec, began = parse_link(link), time.perf_counter()
        steps = play(spec).steps
        run.add(RATE.format(spec.scenario), HERE, steps / (time.perf_counter() - began))


def bytes_of(folder: Path, run: Run) -> None:
    contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    run.add("bytes, MB", PAGE, sum(map(len, contents)) / 1e6)
    run.add("bytes packed by gzip, MB", PAGE, sum(len(gzip.compress(one, 9)) for one in contents) / 1e6)


def compare(run: Run, options: argparse.Namespace) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from playwright.sync_api import sync_playwright

    from tests.browser.lab import chromium

    path = chromium()
    if path is None:
        raise SystemExit("no Chromium on this machine: `make system` installs it")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as apart:
        site = Path(folder) / "play"
        subprocess.run([sys.executable, ROOT / "build_backend" / "build_page.py", site], check=True)
        bytes_of(site, run)
        with served(site) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            for _ in rounds_of(options):
                one_visit(browser, address, run)
                apart.submit(runs_here, run).result()  # a loop of playwright's runs in this thread
            browser.close()


def judge(run: Run) -> None:
    run.target("bytes packed by gzip, MB", run.median("bytes packed by gzip, MB", PAGE), 8.5, at_least=False)
    shown = "until the first run is shown, s"
    run.target(shown, run.median(shown, PAGE), 10.0, at_least=False)
    for link in LINKS:
        what = RATE.format(parse_link(link).scenario)
        run.ratio(f"{what}: the page over CPython", (what, PAGE), (what, HERE))


def main() -> int:
    options = parser_of(__doc__, rounds=3).parse_args()
    run = Run("The page in a browser")
    compare(run, options)
    judge(run)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())
