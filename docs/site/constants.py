"""Describe a public constant by the ``#:`` comment at its assignment, and not by the docstring of ``int``."""

from __future__ import annotations

import ast
import inspect
import sys
from importlib import import_module

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer


def home_of(module: str, name: str) -> str:
    """Return the module that assigns ``name``, reached from ``module`` through its imports of that name.

    Imports under ``TYPE_CHECKING`` count, since packages that load names on demand have only those.

    Raises:
        LookupError: ``module`` neither assigns nor imports the name.
    """
    body = ast.parse(inspect.getsource(import_module(module))).body
    for node in [*body, *(inner for outer in body if isinstance(outer, ast.If) for inner in outer.body)]:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return module
        if isinstance(node, ast.ImportFrom):
            for found in node.names:
                if (found.asname or found.name) == name:
                    return home_of(_absolute(module, node), found.name)
    raise LookupError(f"{module} neither assigns nor imports {name}")


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return str(node.module)
    is_package = hasattr(sys.modules[module], "__path__")
    parts = module.split(".")
    parent = parts[: len(parts) - node.level + is_package]
    return ".".join([*parent, *([node.module] if node.module else [])])


def words_of(module: str, name: str) -> list[str]:
    """Return the lines of the comment on a constant; empty where there is none."""
    found = ModuleAnalyzer.for_module(home_of(module, name)).find_attr_docs().get(("", name), [])
    return [line for line in found if line]


def _describe(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Replace the docstring of the value's class by the words of the constant."""
    if what == "data":
        module, _, own = name.rpartition(".")
        lines[:] = [*words_of(module, own), ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("autodoc-process-docstring", _describe, priority=300)  # before `reference_pages`
    return {"parallel_read_safe": True}
