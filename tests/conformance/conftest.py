"""One behaviour suite, two stores: ours in a process of its own, and a released Pravega 0.13.0."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.client import Client, connect
from tests.conformance.controller import ControllerStub
from tests.conformance.secure.store import SecureStore
from tests.conformance.wheel.calls import manager_of

HERE = Path(__file__).parent
STORES = ["embedded", pytest.param("real", marks=pytest.mark.real_pravega)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test of this folder with a Java program needs the released jars, whatever store it runs on."""
    for item in items:
        if item.path.is_relative_to(HERE) and "java" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.real_pravega)


@pytest.fixture(params=STORES, scope="session")
def which(request: pytest.FixtureRequest) -> str:
    """The store under test: ``embedded`` or ``real``."""
    found: str = request.param
    return found


@pytest.fixture(scope="session")
def uri(which: str, request: pytest.FixtureRequest) -> str:
    """The controller of the store under test.

    With ``PRAVEGA_LAB_SECURE=1`` the embedded store has TLS, passwords, and tokens that live for 8 s. The
    tests of the official clients (``make secure`` names them) then find their credentials in the environment.
    """
    is_secure = bool(os.environ.get("PRAVEGA_LAB_SECURE"))
    names = {"embedded": "secure_uri" if is_secure else "store", "real": "real_pravega"}
    found: str = request.getfixturevalue(names[which])
    return found


@pytest.fixture
def client(uri: str) -> Iterator[Client]:
    with connect(uri) as opened:
        yield opened


@pytest.fixture(scope="session")
def secure_uri() -> Iterator[str]:
    """The controller of an embedded store with TLS and authentication; clients get in by the environment."""
    secure = SecureStore("localhost", ("--token-ttl", "8"))
    secure.start()
    os.environ.update(secure.variables())
    yield secure.named_uri
    secure.stop()


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
