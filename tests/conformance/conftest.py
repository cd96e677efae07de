"""One behaviour suite, two stores: ours in a process of its own, and a released Pravega 0.13.0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conformance.controller import ControllerStub
from tests.conformance.wheel import manager_of

STORES = ["embedded", pytest.param("real", marks=pytest.mark.real_pravega)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with a Java program needs the released jars, whatever store it runs on."""
    for item in items:
        if "java" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.real_pravega)


@pytest.fixture(params=STORES, scope="session")
def which(request: pytest.FixtureRequest) -> str:
    """The store under test: ``embedded`` or ``real``."""
    found: str = request.param
    return found


@pytest.fixture(scope="session")
def uri(which: str, request: pytest.FixtureRequest) -> str:
    """The controller of the store under test."""
    found: str = request.getfixturevalue({"embedded": "store", "real": "real_pravega"}[which])
    return found


@pytest.fixture(scope="session")
def manager(uri: str) -> Any:
    return manager_of(uri)


@pytest.fixture(scope="session")
def controller(uri: str) -> Iterator[ControllerStub]:
    stub = ControllerStub(uri)
    yield stub
    stub.close()


@pytest.fixture
def scope(manager: Any, scope_name: Callable[[], str]) -> str:
    """A new, empty scope."""
    name = scope_name()
    assert manager.create_scope(name) is True
    return name
