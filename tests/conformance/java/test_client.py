"""The official Java client 0.13.0 by itself: every case is a program of ours under `cases`.

Streams, writers, transactions, reader groups, times, batches, bytes and states. A case says the same on the
embedded store as on a real Pravega.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from pravega_lab.client.connection.access import CA_VARIABLE
from tests.conformance.java.answers import JavaCases, answers, case_names


@pytest.fixture(scope="module")
def java(uri: str, which: str) -> Iterator[JavaCases]:
    ca_file = os.environ[CA_VARIABLE] if uri.startswith("tls://") else None
    with JavaCases(uri, tries=3 if which == "real" else 1, ca_file=ca_file) as program:
        yield program


@pytest.mark.parametrize("case", case_names())
def test_case(case: str, java: JavaCases, scope_name: Callable[[], str]) -> None:
    assert java.run(case, scope_name) == answers()[case]


def test_every_case_was_recorded() -> None:
    assert list(answers()) == case_names()
