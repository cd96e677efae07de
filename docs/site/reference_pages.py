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
from typing import NamedTuple

from examples import Example, examples
from sphinx.application import Sphinx

FOLDER = Path(__file__).resolve().parents[1] / "api"
#: Each page of the reference, and the modules whose public names it describes.
MODULES = {
    "pravega_lab": ["pravega_lab"],
    "Client": ["pravega_lab.client"],
    "Reader groups": ["pravega_lab.client.reader_group"],
    "Data sets": ["pravega_lab.datasets"],
    "Schema registry": ["pravega_lab.client.registry"],
    "Spark connector": ["pravega_lab.connector.spark"],
    "Engine": ["pravega_lab.engine.flow"],
    "Jobs step by step": ["pravega_lab.lab.stepping"],
    "Embedded store": ["pravega_lab.engine.server"],
    "Stored data": ["pravega_lab.terminal.admin"],
    "Engine on Spark": ["pravega_lab.engine.cluster.spark"],
    "Streams in jobs of the engine": ["pravega_lab.connector.flow"],
    "Observers and journals": ["pravega_lab.observe"],
    "Views": ["pravega_lab.widgets", "pravega_lab.widgets.drawings"],
    "Testing": ["pravega_lab.testing"],
    "Main job": ["pravega_lab.demo"],
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


def _example(name: str, shown: list[Example]) -> str:
    """Return the example of a name as the content of a directive; names of one example share it."""
    for names, text in shown:
        if name == names[0]:
            lines = "".join(f"      {line}\n" if line else "\n" for line in text.splitlines())
            return f"   .. rubric:: Example\n\n   .. code-block:: pycon\n\n{lines}\n"
        if name in names:
            return f"   The example of ``{names[0]}`` shows it.\n\n"
    return ""


class Entry(NamedTuple):
    """A public name of a module on a page; ``elsewhere`` is the page that describes it already, or empty."""

    module: ModuleType
    name: str
    elsewhere: str


def entries() -> dict[str, list[Entry]]:
    """Return the entries of each page, by its title; those of a module in the order of their examples."""
    described: dict[int, str] = {}
    for (
        title,
        modules,
    ) in MODULES.items():  # a module is described by its page, unless it is called like a function
        described |= {id(m): _file(title) for m in map(import_module, modules) if not callable(m)}
    found: dict[str, list[Entry]] = {title: [] for title in MODULES}
    for title, modules in MODULES.items():
        shown = [name for example in examples(_file(title)) for name in example.names]
        order = {name: number for number, name in enumerate(shown)}
        for module in map(import_module, modules):
            for name in sorted(public_names(module), key=lambda name: order.get(name, 0)):
                value = getattr(module, name)
                # Constants may be equal and the same object.
                is_named = isinstance(value, type | ModuleType) or callable(value)
                found[title].append(Entry(module, name, described.get(id(value), "") if is_named else ""))
                if is_named:
                    described.setdefault(id(value), _file(title))
    return found


def _page(title: str, listed: list[Entry]) -> str:
    parts = [_heading(title)]
    shown = examples(_file(title))
    modules = MODULES[title]
    for module in modules:
        if len(modules) > 1:
            parts.append(f"{module}\n{'-' * len(module)}\n\n")
        else:
            parts.append(f"These names are imported from ``{module}``.\n\n")
        parts.append(f".. currentmodule:: {module}\n\n")
        own = [entry for entry in listed if entry.module.__name__ == module]
        for entry in (entry for entry in own if not entry.elsewhere):
            directive = _directive(getattr(entry.module, entry.name))
            parts.append(f".. {directive}:: {entry.name}\n\n{_example(entry.name, shown)}")
        elsewhere = [f"- ``{entry.name}``: :doc:`{entry.elsewhere}`\n" for entry in own if entry.elsewhere]
        if elsewhere:
            parts.append(f"Importable from here too:\n\n{''.join(elsewhere)}\n")
    return "".join(parts)


def _file(title: str) -> str:
    return title.replace(" ", "-").lower()


def _command_line() -> str:
    from pravega_lab.cli import COMMANDS, main

    os.environ["COLUMNS"] = "74"  # as many characters as the page is wide
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
    pages = {_file(title): _page(title, listed) for title, listed in entries().items()}
    pages |= {"command-line": _command_line()}
    listed = "".join(f"   {name}\n" for name in pages)
    pages["index"] = (
        _heading("API reference")
        + "Every public name with its signature, units and errors, made from the docstrings in the code. "
        + "Tests run the examples of a page from its top, each with the names of those above it. ``uri`` is "
        + "the address of a controller, ``registry_uri`` that of a schema registry, ``folder`` an empty "
        + "folder and ``recording`` a recorded run.\n\n"
        + f".. toctree::\n   :maxdepth: 1\n\n{listed}"
    )
    for old in FOLDER.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = FOLDER / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _keep_first_sentence(app: Sphinx, what: str, *about: object) -> None:
    """Keep the first sentence of an attribute whole: napoleon takes the words before a colon for a type."""
    lines = about[-1]
    if what in ("attribute", "data", "property") and isinstance(lines, list) and ":" in "".join(lines[:1]):
        lines[0] = f": {lines[0]}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("config-inited", _write)
    app.connect("autodoc-process-docstring", _keep_first_sentence, priority=400)  # before napoleon
    return {"parallel_read_safe": True}
