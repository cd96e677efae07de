"""A client of the store of this session for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pravega_lab.client import Client, connect


@pytest.fixture(scope="module")
def client(store: str) -> Iterator[Client]:
    with connect(store) as client:
        yield client
