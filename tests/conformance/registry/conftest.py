"""One behaviour suite, two schema registries: ours in a store's process, and a released one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from pravega_lab.client.registry import SchemaRegistry
from tests.conformance.registry.released import JavaPeer, ReleasedRegistry
from tests.standalone import Standalone, logged_url

_numbers = count()


@pytest.fixture(scope="session")
def registry_uri(which: str) -> Iterator[str]:
    """The registry under test; ``which`` says whose it is."""
    if which == "real":
        with ReleasedRegistry() as uri:
            yield uri
        return
    store = Standalone("--memory", "--registry-port", "0")
    with store:
        yield logged_url(store, "registry_open")


@pytest.fixture
def registry(registry_uri: str) -> SchemaRegistry:
    """A client in a namespace of its own."""
    return SchemaRegistry(registry_uri, namespace=f"space {next(_numbers)}", timeout_s=15)


@pytest.fixture
def java(registry: SchemaRegistry) -> Iterator[JavaPeer]:
    """Java's client in the same namespace."""
    with JavaPeer(registry.uri, registry.namespace) as peer:
        yield peer
