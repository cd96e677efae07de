"""Packages that publish names of their modules, and import a module when one of its names is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package.

    ``homes`` has, for each name, the module that defines it, relative to ``package``. ``dir`` returns the
    names in the package's ``__all__``, imported or not, so that editors and notebooks can complete them.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    def names() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return get, names
