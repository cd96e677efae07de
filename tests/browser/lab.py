"""A JupyterLab of the tests' own: scratch folders, a free port; and the browser to look at it with."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import TimeoutError as PlaywrightTimeout

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "tests/artifacts"  # screenshots to look at; CI keeps them
TOKEN = "browser-test"
START_S = 60
RUN_S = 60
NO_NEWS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_notebook(path: Path, *cells: str) -> Path:
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    code = [
        {
            "cell_type": "code",
            "id": f"cell{i}",
            "metadata": {},
            "source": text,
            "outputs": [],
            "execution_count": None,
        }
        for i, text in enumerate(cells)
    ]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": code}))
    return path


@contextmanager
def jupyter_lab(
    folder: Path, *, dark: bool = False, options: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> Iterator[str]:
    """JupyterLab on ``folder``; gives its address. Ends with the block, kernels included.

    Args:
        options: More of its command line.
        environ: Variables that win over the scratch ones.
    """
    scratch = folder / ".jupyter"
    names = (
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
        "JUPYTERLAB_WORKSPACES_DIR",
        "IPYTHONDIR",
    )
    env = {**os.environ, **{name: str(scratch / name.lower()) for name in names}}
    env["JUPYTERLAB_SETTINGS_DIR"] = str(scratch / "settings")
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), env.get("PYTHONPATH", "")])
    settings = dict(NO_NEWS)
    if dark:
        settings["@jupyterlab/apputils-extension:themes"] = {"theme": "JupyterLab Dark"}
    for name, values in settings.items():
        plugin, _, what = name.partition(":")
        target = scratch / "settings" / plugin / f"{what}.jupyterlab-settings"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(values))
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}", *options]
    with serving(command, folder, {**env, **(environ or {})}) as (address, _):
        yield address


@contextmanager
def serving(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """A JupyterLab by this command; gives its address and its process id. Ends with the block."""
    port = free_port()
    more = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--expose-app-in-browser"]
    with (folder / "jupyter.log").open("w") as log:
        process = subprocess.Popen(
            [*command, *more, f"--IdentityProvider.token={TOKEN}"],
            cwd=folder,
            env=env,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/api?token={TOKEN}", process)
        yield address, process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(f"JupyterLab ended with {process.returncode}")
        try:
            with urlopen(address, timeout=1):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"JupyterLab did not answer within {START_S} s")


def open_notebook(page: Any, address: str, name: str) -> None:
    page.goto(f"{address}/lab/tree/{name}?token={TOKEN}&reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=RUN_S * 1000)
    page.wait_for_function(KERNEL_IDLE, timeout=RUN_S * 1000)


def run_all(page: Any, within_s: float = RUN_S) -> None:
    """Run every cell; returns when the kernel is idle again and each has its number.

    Raises AssertionError, with what it said, as soon as a cell fails.
    """
    # Without the numbers of earlier runs, or it would look done before it began.
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    try:
        page.wait_for_function(f"() => ({FAILED})().length || ({ALL_RUN})()", timeout=within_s * 1000)
    except PlaywrightTimeout as error:
        screenshot(page, "failed")
        raise AssertionError(f"not done after {within_s:g} s, runs: {page.evaluate(RUNNING)}") from error
    if failed := page.evaluate(FAILED):
        screenshot(page, "failed")
        raise AssertionError("\n".join(failed))


def screenshot(page: Any, name: str) -> Path:
    """Keep what the page looks like among the artefacts."""
    ARTIFACTS.mkdir(exist_ok=True)
    path = ARTIFACTS / f"{name}.png"
    page.screenshot(path=path)
    return path


# The notebook: a panel of views beside it may be the current widget for a moment.
BOOK = (
    "[window.jupyterapp?.shell.currentWidget, ...(window.jupyterapp?.shell.widgets('main') ?? [])]"
    ".find((w) => w?.sessionContext && w.content?.widgets)"
)


def _of_book(script: str) -> str:
    return script.replace("BOOK", f"({BOOK})")


KERNEL_IDLE = _of_book("""() => {
  const panel = BOOK;
  return panel?.sessionContext?.session?.kernel?.status === 'idle';
}""")
FAILED = _of_book("""() => {
  const cells = BOOK.content.widgets.filter((c) => c.model.type === 'code');
  return cells.flatMap((cell) => cell.model.outputs.toJSON())
    .filter((output) => output.output_type === 'error').map((o) => `${o.ename}: ${o.evalue}`);
}""")
OUTPUTS = _of_book("""() => BOOK.content.widgets
  .filter((c) => c.model.type === 'code').map((cell) => cell.model.outputs.toJSON())""")
RUNNING = _of_book("""() => BOOK.content.widgets
  .filter((c) => c.model.type === 'code' && !c.model.executionCount)
  .map((c) => c.model.sharedModel.getSource()).slice(0, 2)""")
ALL_RUN = _of_book("""() => {
  const panel = BOOK;
  const cells = panel.content.widgets.filter((c) => c.model.type === 'code');
  return cells.every((c) => c.model.executionCount) && panel.sessionContext.session.kernel.status === 'idle';
}""")
