"""What a Binder does with this repository, here: install, postBuild, start, every tutorial in JupyterLab.

Run by ``make binder``. The checkout is copied, ``binder/requirements.txt`` installed into an empty
environment, ``binder/postBuild`` run, and JupyterLab started through ``binder/start``, without a network
where the machine can take it away (``unshare``). Then a browser opens every tutorial and runs all its cells.
The memory of the server with all that it starts is measured all the while; more than 2 GiB fail.

``--only 01`` runs the tutorials whose names begin so; ``--keep FOLDER`` keeps the environment for later.
``--then-wheel`` installs the pins with uv, which takes a minute less than pip, and afterwards the built wheel
into the environment, and runs `wheel_demo` there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from pravega_lab.terminal.doctor import find_browser  # noqa: E402 - a script finds it by the line above
from tests.browser.lab import (  # noqa: E402
    KERNEL_IDLE,
    RUN_S,
    TOKEN,
    run_all,
    screenshot,
    serving,
)
from tests.browser.page import newest, wait_painted, wait_shown  # noqa: E402
from tests.project.package_cache import install  # noqa: E402
from tests.project.wheel_demo import check_wheel  # noqa: E402

GIB = 1024**3
MEMORY_BYTES_MAX = 2 * GIB
TUTORIAL_S = 900
LARGEST = 6
OPEN = "(path) => void window.jupyterapp.commands.execute('docmanager:open', { path, factory: 'Notebook' })"
SHOWN = f"(path) => window.jupyterapp.shell.currentWidget?.context?.path === path && ({KERNEL_IDLE})()"
UNTRUSTED = """() => {
  const cells = [...window.jupyterapp.shell.currentWidget.content.model.cells];
  return cells.filter((cell) => cell.type === "code" && !cell.trusted).length;
}"""
READY = "() => window.jupyterapp?.commands.hasCommand('docmanager:open')"
SHUT = "() => window.jupyterapp.serviceManager.sessions.shutdownAll()"


def say(*words: object) -> None:
    print("binder:", *words, flush=True)


def copy_checkout(home: Path) -> None:
    """The files that git knows, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, home / name
        if not source.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)


def environ(home: Path, prefix: Path) -> dict[str, str]:
    """What a Binder's processes see: a home that is the checkout, the environment first, nothing of ours."""
    ours = ("PYTHON", "PYSPARK", "PYTEST", "SPARK_", "VIRTUAL_", "JUPYTER", "PRAVEGA_", "LAB_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    path = os.pathsep.join([str(prefix / "bin"), os.environ["PATH"]])
    return {**clean, "HOME": str(home), "PATH": path, "NB_PYTHON_PREFIX": str(prefix)}


def build(home: Path, prefix: Path, *, with_uv: bool = False) -> None:
    """The steps of repo2docker's build; it installs with pip."""
    copy_checkout(home)
    if not prefix.exists():
        venv.create(prefix, with_pip=True)
    env = environ(home, prefix)
    # pip keeps its downloads where it always does, not in the new home. Python compiles what is imported.
    own = {**env, "HOME": os.environ.get("HOME", str(home)), "PIP_NO_COMPILE": "1"}
    pins = "-r", "binder/requirements.txt"
    began = time.monotonic()
    if with_uv:
        say("uv installed from the", install(prefix / "bin/python", *pins, cwd=home, env=own))
    else:
        pip = [str(prefix / "bin/python"), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, *pins], cwd=home, env=own, check=True)
    say(f"installed in {time.monotonic() - began:.0f} s")
    subprocess.run([str(home / "binder/postBuild")], cwd=home, env=env, check=True)


class Memory:
    """Proportional memory of a process and all its descendants, looked at twice a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak_bytes, self._at_peak = 0, list[tuple[int, str]]()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def take_peak(self) -> tuple[int, str]:
        """The most since it was last asked, in bytes, and the largest processes of that moment, in MiB."""
        largest = sorted(self._at_peak, reverse=True)[:LARGEST]
        peak, self._peak_bytes = self._peak_bytes, 0
        return peak, ", ".join(f"{name} {size // 1024**2}" for size, name in largest)

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            found = [(_pss_bytes(pid), pid) for pid in descendants(self._pid)]
            total = sum(size for size, _ in found)
            if total > self._peak_bytes:
                self._peak_bytes, self._at_peak = total, [(size, _name(pid)) for size, pid in found]


def _name(pid: int) -> str:
    """The program of a process, and the module or script that it runs."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return "gone"
    module = words[words.index("-m") + 1] if "-m" in words else Path(words[1] if len(words) > 1 else "").name
    return f"{Path(words[0]).name} {module}"


def descendants(pid: int) -> list[int]:
    """A process and whatever it has started, by their parents in /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue  # it has just ended
            children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def _pss_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


@contextmanager
def started(home: Path, prefix: Path) -> Iterator[tuple[str, int]]:
    command = [str(home / "binder/start"), "jupyter", "lab"]
    with serving(command, home, environ(home, prefix)) as server:
        yield server


@contextmanager
def opened(browser: Any, address: str) -> Iterator[Any]:
    """A page of JupyterLab as a new visitor gets it."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(READY, timeout=RUN_S * 1000)
    page.evaluate("() => window.jupyterapp.restored.then(() => true)")
    yield page
    page.evaluate(SHUT)
    context.close()


def check_layout(browser: Any, address: str) -> None:
    with opened(browser, f"{address}/lab?token={TOKEN}") as page:
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=RUN_S * 1000)
        screenshot(page, "binder")


def run_tutorial(browser: Any, address: str, notebook: str) -> str:
    """Run all its cells in a page of its own; what failed, or nothing."""
    workspace = f"{address}/lab/workspaces/{Path(notebook).stem}"  # empty, where the first one has our layout
    with opened(browser, f"{workspace}?token={TOKEN}") as page:
        try:
            page.evaluate(OPEN, notebook)
            page.wait_for_function(SHOWN, arg=notebook, timeout=RUN_S * 1000)
            if page.evaluate(UNTRUSTED):
                return "FAILED cells are not trusted, so their stored pictures are not shown"
            run_all(page, within_s=TUTORIAL_S)
            check_views(page)
        except Exception as error:  # the next tutorial is to be tried all the same
            return f"FAILED {error}"
        finally:
            screenshot(page, f"binder-{Path(notebook).stem}")
    return ""


def check_views(page: Any) -> None:
    """Every view is painted; with its clock at the end it shows the last observation of its journal."""
    count = page.locator(".plab").count()
    for n in range(count):
        wait_painted(page, n)
    for button in page.locator(".plab button").filter(has_text=re.compile("^end$")).all():
        if button.is_visible() and button.is_enabled():  # a tutorial has moved this clock
            button.click()
    wanted = newest(page)
    wait_shown(page, wanted)
    say(f"  {count} views painted, {len(wanted)} journals shown to their ends")


def tutorials(home: Path, only: str) -> list[str]:
    return sorted(p.relative_to(home).as_posix() for p in (home / "notebooks").glob(f"{only}*.ipynb"))


def open_all(home: Path, prefix: Path, only: str) -> int:
    """Run the tutorials in JupyterLab; how many failed."""
    from playwright.sync_api import sync_playwright

    failed, found = 0, tutorials(home, only)
    with started(home, prefix) as (address, pid), sync_playwright() as playwright:
        memory = Memory(pid)
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        check_layout(browser, address)
        for notebook in found:
            memory.take_peak()
            began = time.monotonic()
            verdict = run_tutorial(browser, address, notebook)
            took, (peak, largest) = time.monotonic() - began, memory.take_peak()
            if not verdict and peak > MEMORY_BYTES_MAX:
                verdict = f"FAILED: more than {MEMORY_BYTES_MAX / GIB:.0f} GiB"
            failed += bool(verdict)
            say(f"{notebook}: {took:.0f} s, {peak / 1024**2:.0f} MiB at most ({largest}) {verdict}")
        memory.close()
        browser.close()
    print(f"{len(found) - failed} passed, {failed} failed", flush=True)
    return failed if found else 1


def offline(command: list[str]) -> list[str]:
    """The same command without a network but the loopback, if this machine lets us."""
    alone = ["unshare", "--net", "--map-root-user"]
    up = "ip link set lo up"
    if shutil.which("unshare") and shutil.which("ip"):
        tried = subprocess.run([*alone, "sh", "-c", up], capture_output=True, check=False)
        if tried.returncode == 0:
            return [*alone, "sh", "-c", f'{up} && exec "$@"', "sh", *command]
    print("SKIPPED: a Binder without network (this machine keeps it: unshare, ip)", flush=True)
    return command


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--then-wheel", action="store_true")
    parser.add_argument("--built", type=Path, help=argparse.SUPPRESS)  # the second half, without network
    args = parser.parse_args()
    if args.built is not None:
        return min(1, open_all(args.built / "home", args.built / "env", args.only))
    with tempfile.TemporaryDirectory() as name:
        folder = args.keep.resolve() if args.keep else Path(name)
        shutil.rmtree(folder / "home", ignore_errors=True)
        build(folder / "home", folder / "env", with_uv=args.then_wheel)
        failed = open_offline(folder, args.only)
        if args.then_wheel:
            outside = folder / "wheel"
            outside.mkdir()
            checked = check_wheel(outside, folder / "env", fresh=False)
            print(checked.line(), flush=True)
            failed = failed or int(not checked.passed)
        return failed


def open_offline(folder: Path, only: str) -> int:
    """Run the tutorials in a process without network; its exit code."""
    if find_browser() is None:
        print("SKIPPED: a Binder's tutorials (no Chromium; `make system` installs it)", flush=True)
        return 0
    again = [sys.executable, __file__, "--built", str(folder), "--only", only]
    return subprocess.run(offline(again), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
