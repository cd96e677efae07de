"""How fast the views are: many segments, ten updates a second, in headless Chromium inside JupyterLab.

    python benchmarks/views.py [--segments 10000 100000] [--seconds 8] [--hertz 10]

A live journal splits one segment per tick, and at every other tick two merge. Measured: the kernel's work per
update, and bytes per tick (with as many updates as ticks: per update); in the page the time from a message's
arrival to its picture, the drawing alone, the page's CPU time per drawing (where what else the machine does
does not count), and frames a second. Prints a table; exit code 1 when a target is missed.
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

WAIT_MS = 240_000  # until the page has its snapshot, also of very many segments
# What is asked of every size, and of those up to ten thousand: the least, and the most.
TARGETS = {"updates a second": (9.0, 11.0), "bytes per tick": (0.0, 1024.0)}
SMALL, SMALL_TARGETS = 10_000, {"latency p95 ms": (0.0, 100.0), "drawing p95 ms": (0.0, 16.0)}

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
    ticks, timed.ticks = story.ticks - timed.ticks, story.ticks
    if payload is not None and payload.kind == "delta" and ticks:
        size = payload.n_bytes + len(json.dumps(payload.content(0)))
        spent.append((1000 * (time.perf_counter() - began), size / ticks))
    return payload

timed.ticks = story.ticks
view.publisher._produce = timed

story.done = False

def drive():
    due = time.monotonic()
    while not story.done:
        story.tick()
        due = max(due + 1 / {hertz}, time.monotonic() - 1)
        time.sleep(max(0, due - time.monotonic()))

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
        code = NOTEBOOK.format(segments=segments, hertz=hertz)
        report = "story.done = True\nprint(json.dumps(spent))"
        write_notebook(folder / "bench.ipynb", code)
        with jupyter_lab(folder) as address:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            open_notebook(page, address, "bench.ipynb")
            run_all(page)
            shown = "() => Number(document.querySelector('.plab')?.dataset.updates) > 20"
            page.wait_for_function(shown, timeout=WAIT_MS)
            meter = page.context.new_cdp_session(page)
            meter.send("Performance.enable", {"timeDomain": "threadTicks"})
            before = cpu_s(meter)
            seen = page.evaluate(PROBE, seconds)
            seen["cpu"] = 1000 * (cpu_s(meter) - before) / max(1, len(seen["draw"]))
            spent = kernel_says(page, report)
            browser.close()
    return summary(seen, spent, seconds)


def cpu_s(meter: Any) -> float:
    """Seconds that the page's thread has computed, whatever else the machine does."""
    metrics = meter.send("Performance.getMetrics")["metrics"]
    return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def kernel_says(page: Any, code: str) -> list[tuple[float, float]]:
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


def summary(seen: dict[str, Any], spent: list[tuple[float, float]], seconds: float) -> dict[str, float]:
    def p95(values: list[float]) -> float:
        return sorted(values)[int(0.95 * (len(values) - 1))]

    return {
        "updates a second": seen["updates"] / seconds,
        "frames a second": seen["frames"] / seconds,
        "latency p50 ms": statistics.median(seen["latency"]),
        "latency p95 ms": p95(seen["latency"]),
        "drawing p50 ms": statistics.median(seen["draw"]),
        "drawing p95 ms": p95(seen["draw"]),
        "CPU of the page per drawing ms": seen["cpu"],
        "kernel p50 ms": statistics.median(ms for ms, _ in spent),
        "kernel p95 ms": p95([ms for ms, _ in spent]),
        "bytes per tick": statistics.median(n for _, n in spent),
    }


def target(name: str) -> str:
    """What is asked for, in words."""
    low, high = (TARGETS | SMALL_TARGETS).get(name, (0.0, 0.0))
    where = f", up to {SMALL:,}" if name in SMALL_TARGETS else ""
    return f" (target {'≥' if low else '<'} {low or high:,.0f}{where})" if high else ""


def misses(segments: int, result: dict[str, float]) -> list[str]:
    asked = TARGETS | (SMALL_TARGETS if segments <= SMALL else {})
    return [name for name, (low, high) in asked.items() if not low <= result[name] <= high]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--hertz", type=float, default=10)
    asked = parser.parse_args()
    results = {n: measure(n, asked.seconds, asked.hertz) for n in asked.segments}
    print("| |" + "".join(f" {n:,} segments |" for n in results))
    print("|---|" + "---|" * len(results))
    for name in next(iter(results.values())):
        print(f"| {name}{target(name)} |" + "".join(f" {r[name]:,.1f} |" for r in results.values()))
    missed = [f"{n:,}: {name}" for n, r in results.items() for name in misses(n, r)]
    print(f"missed: {', '.join(missed)}" if missed else "all targets met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
