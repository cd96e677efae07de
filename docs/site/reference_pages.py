"""Write the reference into ``docs/api/``: names from their docstrings, options from their declarations.

Each build writes these pages again. They are not in the repository.
"""

from __future__ import annotations

import contextlib
import io
import os
from importlib import import_module
from pathlib import Path
from types import ModuleType

from examples import examples
from sphinx.application import Sphinx

FOLDER = Path(__file__).resolve().parents[1] / "api"
#: Each page of the reference, and the modules whose public names it describes.
MODULES = {
    "pravega_lab": ["pravega_lab"],
    "Client": ["pravega_lab.client"],
    "Reader groups": ["pravega_lab.client.reader_group"],
    "Schema registry": ["pravega_lab.client.registry"],
    "Spark connector": ["pravega_lab.connector.spark"],
    "Engine": [
        "pravega_lab.engine.flow.graph.stream",
        "pravega_lab.engine.flow.operators.functions",
        "pravega_lab.engine.flow.operators.operator",
        "pravega_lab.engine.flow.source.collections",
        "pravega_lab.engine.flow.source.parquet",
        "pravega_lab.engine.flow.source.hybrid",
        "pravega_lab.engine.flow.sink.file_sink",
        "pravega_lab.engine.flow.master.config",
        "pravega_lab.engine.flow.master.job",
        "pravega_lab.engine.flow.checkpoint.history",
        "pravega_lab.engine.flow.errors",
        "pravega_lab.engine.cluster.spark",
    ],
    "Streams in jobs of the engine": ["pravega_lab.connector.flow"],
    "Observers and journals": ["pravega_lab.observe"],
    "Views": ["pravega_lab.widgets", "pravega_lab.widgets.drawings"],
    "Testing": ["pravega_lab.testing"],
    "Tutorials": ["pravega_lab.tutorials"],
    "Errors": ["pravega_lab.errors"],
}


def _heading(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n\n"


def public_names(module: ModuleType) -> list[str]:
    """Return what ``__all__`` of a module names, or else the public classes and functions defined there."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not name.startswith("__")]
    own = [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    return [name for name in own if not name.startswith("_")]


def _directive(value: object) -> str:
    if isinstance(value, type):
        return "autoexception" if issubclass(value, BaseException) else "autoclass"
    return "autofunction" if callable(value) else "autodata"


def _example(text: str) -> str:
    """Return an example as the content of a directive."""
    if not text:
        return ""
    lines = "".join(f"      {line}\n" if line else "\n" for line in text.splitlines())
    return f"   .. rubric:: Example\n\n   .. code-block:: pycon\n\n{lines}\n"


def _modules(title: str, modules: list[str], described: dict[int, str]) -> str:
    """Return the page ``title``. What another page describes already, ``described`` by id, is named only."""
    parts = [_heading(title)]
    shown = examples(_file(title))
    for name in modules:
        module = import_module(name)
        if len(modules) > 1:
            parts.append(f"{name}\n{'-' * len(name)}\n\n")
        parts.append(f".. currentmodule:: {name}\n\n")
        elsewhere = []
        for public in public_names(module):
            value = getattr(module, public)
            # Constants may be equal and the same object.
            if isinstance(value, type) or callable(value):
                if id(value) in described:
                    elsewhere.append(f"- ``{public}``: :doc:`{described[id(value)]}`\n")
                    continue
                described[id(value)] = _file(title)
            parts.append(f".. {_directive(value)}:: {public}\n\n{_example(shown.get(public, ''))}")
        if elsewhere:
            parts.append(f"Importable from here too:\n\n{''.join(elsewhere)}\n")
    return "".join(parts)


def _file(title: str) -> str:
    return title.replace(" ", "-").lower()


def _command_line() -> str:
    from pravega_lab.cli import COMMANDS, main

    os.environ["COLUMNS"] = "100"
    parts = [_heading("Command line"), "Each command prints this text with ``--help``.\n\n"]
    for name in COMMANDS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main([name, "--help"])
        text = "".join(f"   {line}\n" if line else "\n" for line in printed.getvalue().splitlines())
        title = f"pravega-lab {name}"
        parts.append(f"{title}\n{'-' * len(title)}\n\n.. code-block:: text\n\n{text}\n")
    return "".join(parts)


def _write(app: Sphinx, config: object) -> None:
    FOLDER.mkdir(exist_ok=True)
    described: dict[int, str] = {}
    pages = {_file(title): _modules(title, modules, described) for title, modules in MODULES.items()}
    pages |= {"command-line": _command_line()}
    listed = "".join(f"   {name}\n" for name in pages)
    pages["index"] = (
        _heading("API reference")
        + "Every public name with its signature, units and errors, made from the docstrings in the code. "
        + "Tests run the examples. Every name has one on the pages pravega_lab, Client, Views, Testing and "
        + "Tutorials; on the other pages the guides have them.\n\n"
        + f".. toctree::\n   :maxdepth: 1\n\n{listed}"
    )
    for old in FOLDER.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = FOLDER / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("config-inited", _write)
    return {"parallel_read_safe": True}
