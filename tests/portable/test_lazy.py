"""Packages that import the modules of their names late."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["connector.spark", "demo", "engine.server", "testing"])
def test_a_package_lists_and_finds_its_names(name: str) -> None:
    package = import_module(f"pravega_lab.{name}")
    assert dir(package) == sorted(package.__all__)
    assert all(getattr(package, published).__doc__ for published in package.__all__)
    with pytest.raises(AttributeError, match=f"module 'pravega_lab.{name}' has no attribute 'nothing'"):
        _ = package.nothing
