"""A lab for the tests of a module. Some modules have a lab of another kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pravega_lab.lab.lab import Lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made
