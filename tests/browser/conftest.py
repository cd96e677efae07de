"""A browser and a JupyterLab for these tests, which are skipped, loudly, where there is no browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page

from pravega_lab.terminal.doctor import find_browser
from tests.browser.lab import ROOT, jupyter_lab, open_notebook, write_notebook
from tests.browser.page import Errors

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


#: The browser finds no host but this machine, whatever a page asks for.
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


# Where the focus is, and the text of the page: of JupyterLab, its cells and panels, the selected one marked.
PAGE_STATE = """() => {
  const parts = [...document.querySelectorAll('.jp-Cell, .jupyterlab-sidecar, .jp-Dialog')];
  const text = (e) => (e.classList.contains('jp-mod-active') ? '> ' : '  ') + e.innerText.slice(0, 1000);
  const focus = document.activeElement?.cloneNode(false).outerHTML;
  return [`focus: ${focus}`, ...(parts.length ? parts : [document.body]).map(text)].join('\\n');
}"""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report what the page of a failed test shows, and where its focus is."""
    report = yield
    pages = [value for value in getattr(item, "funcargs", {}).values() if isinstance(value, Page)]
    for page in pages if report.when == "call" and report.failed else ():
        try:
            report.sections.append(("the page", page.evaluate(PAGE_STATE)))
        except PlaywrightError as error:
            report.sections.append(("the page", f"does not answer: {error}"))
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = find_browser()
    if path is None:
        why = "VIEWS NOT TESTED: no Chromium on this machine; `make system` (as root on Debian) installs it"
        print(why, file=sys.stderr)
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", NO_NETWORK])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def lab(browser: Any, lab_folder: Path) -> Iterator[str]:
    with jupyter_lab(lab_folder) as address:
        yield address


@pytest.fixture(scope="module")
def errors() -> Errors:
    """What the pages of a module complain of."""
    return Errors()


@pytest.fixture(scope="session")
def new_notebook(browser: Any, lab: str, lab_folder: Path) -> Callable[..., AbstractContextManager[Any]]:
    """Opens a notebook with some cells in a page of its own, of a size in pixels. ``script`` runs before the
    page's own scripts.
    """

    @contextmanager
    def opened(
        name: str, *cells: str, size: tuple[int, int], errors: Errors, script: str = "() => {}"
    ) -> Iterator[Any]:
        write_notebook(lab_folder / f"{name}.ipynb", *cells)
        context = browser.new_context(viewport={"width": size[0], "height": size[1]})
        page = context.new_page()
        errors.of(page)
        page.add_init_script(f"({script})()")
        open_notebook(page, lab, f"{name}.ipynb")
        yield page
        context.close()

    return opened


@pytest.fixture(scope="session")
def prepared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A JupyterLab that was prepared by binder/postBuild, as `make lab` and Binder do it."""
    folder = tmp_path_factory.mktemp("layout")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")
    # The environment is this one; only what is written to it goes elsewhere.
    (folder / "bin").symlink_to(Path(sys.executable).parent)
    workspaces = {"JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [ROOT / "binder/postBuild"],
        env={**os.environ, **workspaces, "PATH": path, "NB_PYTHON_PREFIX": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    settings = f"--LabApp.app_settings_dir={folder / 'share/jupyter/lab/settings'}"
    with jupyter_lab(folder, options=[settings], environ=workspaces) as address:
        yield address
