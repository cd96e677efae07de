"""How fast the views are: many segments, ten updates a second, in headless Chromium inside JupyterLab.

    python benchmarks/views.py [--segments 10000] [--seconds 8] [--hertz 10]

A live journal splits one segment per tick, and at every other tick two merge. Measured: the kernel's work per
update and its bytes; in the page the time from a message's arrival to its picture, the drawing alone, and
frames a second. Prints a table; exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

TARGETS = {"latency p95 ms": 100.0, "bytes per update": 2048.0}

NOTEBOOK = """
import json, time
from threading import Thread
from tests.observe.examples import many_segments_story
from pravega_lab.widgets import SegmentMap

story = many_segments_story({segments})
view = SegmentMap(story.journal)
spent, produce = [], view._produce

def timed(everything):
    began = time.perf_counter()
    payload = produce(everything)
    if payload is not None and payload.kind == "delta":
        size = payload.n_bytes + len(json.dumps(payload.content(0)))
        spent.append((1000 * (time.perf_counter() - began), size))
    return payload

view.publisher._produce = timed

def drive():
    until = time.monotonic() + {seconds} + 6
    while time.monotonic() < until:
        story.tick()
        time.sleep(1 / {hertz})

Thread(target=drive, daemon=True).start()
view
"""

# Counts frames, and how long each message waits for its picture.
PROBE = """(seconds) => new Promise((done) => {
  const root = document.querySelector('.plab');
  const seen = { latency: [], draw: [], frames: 0, updates: 0 };
  let [updates, draws, since] = [root.dataset.updates, root.dataset.draws, 0];
  const end = performance.now() + 1000 * seconds;
  const watch = new MutationObserver(() => {
    if (root.dataset.draws === draws) return;
    draws = root.dataset.draws;
    seen.draw.push(Number(root.dataset.drawMs));
    seen.latency.push(Number(root.dataset.waitMs));
    seen.updates = Number(root.dataset.updates) - Number(updates);
  });
  watch.observe(root, { attributes: true });
  const frame = () => {
    seen.frames += 1;
    if (performance.now() < end) requestAnimationFrame(frame);
    else { watch.disconnect(); done(seen); }
  };
  requestAnimationFrame(frame);
})"""


def measure(segments: int, seconds: float, hertz: float) -> dict[str, float]:
    """One run; milliseconds, bytes, and counts a second."""
    from playwright.sync_api import sync_playwright

    from tests.browser.lab import chromium, jupyter_lab, open_notebook, run_all, write_notebook

    path = chromium()
    if path is None:
        raise SystemExit("benchmarks/views.py: no Chromium on this machine; `make system` installs it")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        code = NOTEBOOK.format(segments=segments, seconds=seconds, hertz=hertz)
        report = "story.done = True\nprint(json.dumps(spent))"
        write_notebook(folder / "bench.ipynb", code)
        with jupyter_lab(folder) as address:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            open_notebook(page, address, "bench.ipynb")
            run_all(page)
            page.wait_for_function("() => Number(document.querySelector('.plab')?.dataset.updates) > 2")
            seen = page.evaluate(PROBE, seconds)
            spent = kernel_says(page, report)
            browser.close()
    return summary(seen, spent, seconds)


def kernel_says(page: Any, code: str) -> list[tuple[float, int]]:
    text = page.evaluate(
        """async (code) => {
          const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
          const future = kernel.requestExecute({ code });
          let text = '';
          future.onIOPub = (m) => { if (m.header.msg_type === 'stream') text += m.content.text; };
          await future.done;
          return text;
        }""",
        code,
    )
    return [tuple(pair) for pair in json.loads(text)]


def summary(seen: dict[str, Any], spent: list[tuple[float, int]], seconds: float) -> dict[str, float]:
    def p95(values: list[float]) -> float:
        return sorted(values)[int(0.95 * (len(values) - 1))]

    return {
        "updates a second": seen["updates"] / seconds,
        "frames a second": seen["frames"] / seconds,
        "latency p50 ms": statistics.median(seen["latency"]),
        "latency p95 ms": p95(seen["latency"]),
        "drawing p50 ms": statistics.median(seen["draw"]),
        "drawing p95 ms": p95(seen["draw"]),
        "kernel p50 ms": statistics.median(ms for ms, _ in spent),
        "kernel p95 ms": p95([ms for ms, _ in spent]),
        "bytes per update": statistics.median(n for _, n in spent),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--hertz", type=float, default=10)
    asked = parser.parse_args()
    results = {n: measure(n, asked.seconds, asked.hertz) for n in asked.segments}
    print("| |" + "".join(f" {n:,} segments |" for n in results))
    print("|---|" + "---|" * len(results))
    for name in next(iter(results.values())):
        target = f" (target < {TARGETS[name]:,.0f})" if name in TARGETS else ""
        print(f"| {name}{target} |" + "".join(f" {r[name]:,.1f} |" for r in results.values()))
    missed = [f"{n:,}: {name}" for n, r in results.items() for name in TARGETS if r[name] >= TARGETS[name]]
    print(f"missed: {', '.join(missed)}" if missed else "all targets met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
