"""The official Rust client gets the same answers from the embedded store as `client.ANSWERS` lists."""

from __future__ import annotations

import sys

import pytest

from tests.conformance.rust.client import ANSWERS, PROGRAM, SOURCES, answers


@pytest.mark.slow
def test_the_rust_client_works(store: str) -> None:
    sources = (SOURCES / "src/main.rs", SOURCES / "Cargo.lock")
    if not PROGRAM.exists() or PROGRAM.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        why = "NOT COMPARED WITH THE RUST CLIENT: build it with python -m tests.conformance.rust.client"
        print(why, file=sys.stderr)
        pytest.skip(why)
    assert answers(PROGRAM, store) == ANSWERS
