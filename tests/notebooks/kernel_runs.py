"""A pytest plugin for nbval: keep what kernels answered, and compare it again without running the cells.

``--keep-runs FOLDER`` keeps the run of every notebook. ``--reuse-runs FOLDER`` compares notebooks with the
runs that are kept there. nbval does the comparison both times. A run is found by the notebook's file name and
belongs to the sources of its cells: a cell that differs, or that the run does not have, is an error.

Loaded with ``-p tests.notebooks.kernel_runs``.
"""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbFile

Message = dict[str, Any]


class KeptRun:
    """The cells of a notebook in the order in which they ran: each its source, and what the kernel sent."""

    def __init__(self, cells: list[tuple[str, list[Message]]]) -> None:
        self.cells = cells

    @classmethod
    def load(cls, path: Path) -> KeptRun:
        return cls([(cell["source"], cell["messages"]) for cell in json.loads(path.read_text())])

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        cells = [{"source": source, "messages": messages} for source, messages in self.cells]
        part = path.with_suffix(".part")
        part.write_text(json.dumps(cells))
        part.rename(path)

    def sources(self) -> list[str]:
        return [source for source, _ in self.cells]


def run_file(folder: Path, notebook: Path) -> Path:
    """Return where the run of a notebook is kept."""
    return folder / f"{notebook.stem}.json"


class KeepingKernel:
    """A running kernel whose messages are kept, as nbval sees it."""

    def __init__(self, kernel: RunningKernel, file: Path) -> None:
        self._kernel, self._file = kernel, file
        self._cells: dict[str, tuple[str, list[Message]]] = {}

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        msg_id: str = self._kernel.execute_cell_input(source, allow_stdin=allow_stdin)
        self._cells[msg_id] = (source, [])
        return msg_id

    def get_message(self, stream: str, timeout: float | None = None) -> Message:
        message: Message = self._kernel.get_message(stream, timeout=timeout)
        asked = message["parent_header"].get("msg_id")
        if stream == "iopub" and asked in self._cells:
            kept = {"msg_type": message["msg_type"], "content": message["content"]}
            self._cells[asked][1].append(json.loads(json.dumps(kept, default=str)))
            if message["content"].get("name") == "stderr":
                print(message["content"]["text"], end="")  # pytest shows it if the cell fails
        return message

    def await_idle(self, parent_id: str, timeout: float) -> None:
        RunningKernel.await_idle(self, parent_id, timeout)

    def stop(self) -> None:
        KeptRun(list(self._cells.values())).save(self._file)
        self._kernel.stop()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


class KeptKernel:
    """A kernel that repeats what another one answered, as nbval sees it."""

    def __init__(self, run: KeptRun) -> None:
        self._cells = deque(enumerate(run.cells))
        self._messages: deque[Message] = deque()

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        assert self._cells, f"the run that was kept ends before this cell: {source[:200]}"
        number, (kept, messages) = self._cells.popleft()
        assert kept == source, f"the run that was kept is of another cell {number}: {kept[:200]}"
        header = {"msg_id": str(number)}
        self._messages = deque({**message, "parent_header": header} for message in messages)
        return str(number)

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        pass  # it is here

    def get_message(self, stream: str, timeout: float | None = None) -> Message:
        if not self._messages:
            raise Empty
        return self._messages.popleft()

    def await_idle(self, parent_id: str, timeout: float) -> None:
        self._messages.clear()

    def is_alive(self) -> bool:
        return True

    def interrupt(self) -> None:
        pass

    def stop(self) -> None:
        self._cells.clear()

    language = "python"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("nbval")
    group.addoption("--keep-runs", type=Path, help="keep what the kernels answer in this folder")
    group.addoption("--reuse-runs", type=Path, help="compare with the runs in this folder; start no kernel")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    keep: Path | None = config.getoption("--keep-runs")
    reuse: Path | None = config.getoption("--reuse-runs")
    if keep is not None or reuse is not None:
        IPyNbFile.setup = _setup(keep, reuse)


def _setup(keep: Path | None, reuse: Path | None) -> Any:
    start = IPyNbFile.setup

    def setup(self: Any) -> None:
        if reuse is not None:
            self.kernel = KeptKernel(KeptRun.load(run_file(reuse, self.path)))
            self.setup_sanitize_files()
            return
        start(self)
        assert keep is not None
        self.kernel = KeepingKernel(self.kernel, run_file(keep, self.path))

    return setup
