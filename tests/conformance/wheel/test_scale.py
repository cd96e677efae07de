"""Scaling under the official wheel's feet: order per routing key through every split and merge.

Source: pravega.md A5, E7.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

from tests.conformance.controller import ControllerStub
from tests.conformance.wheel.calls import by_key, read_events, read_stream

KEYS = [f"key-{n}" for n in range(13)]


def expected(count: int) -> dict[str, list[int]]:
    return {key: list(range(count)) for key in KEYS}


@pytest.mark.slow
def test_a_writer_with_events_in_flight_goes_through_a_split_and_a_merge(
    manager: Any, controller: ControllerStub, scope: str
) -> None:
    manager.create_stream(scope, "scaled", 1)
    writer = manager.create_writer(scope, "scaled", 500)
    for number in range(60):
        for key in KEYS:
            writer.write_event(f"{key}:{number}", key)
        if number == 20:
            halves = controller.split(scope, "scaled", 0)
        if number == 40:
            controller.merge(scope, "scaled", list(halves))
    writer.flush()
    assert [s >> 32 for s in controller.segments(scope, "scaled")] == [2]
    assert by_key(read_stream(manager, scope, "scaled", 60 * len(KEYS))) == expected(60)


def test_a_writer_never_pauses_while_the_stream_is_scaled(
    manager: Any, controller: ControllerStub, scope: str
) -> None:
    manager.create_stream(scope, "busy", 2)
    reader = manager.create_reader_group("follow", scope, "busy").create_reader("reader")
    scaled, written = threading.Event(), [0]

    def write() -> None:
        writer = manager.create_writer(scope, "busy", 50)
        while not scaled.is_set() or written[0] < 50:
            for key in KEYS:
                writer.write_event(f"{key}:{written[0]}", key)
            written[0] += 1
        writer.flush()

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        first, second = controller.split(scope, "busy", 0)
        controller.split(scope, "busy", 1)
        controller.merge(scope, "busy", [first, second])
        controller.merge(scope, "busy", list(controller.segments(scope, "busy"))[1:])
    finally:
        scaled.set()
        thread.join(60)
    assert not thread.is_alive()
    assert by_key(read_events(reader, written[0] * len(KEYS))) == expected(written[0])


def test_uneven_ranges_and_many_epochs(manager: Any, controller: ControllerStub, scope: str) -> None:
    """2, 4, 2, 8, 3, 5, 2 segments, thirds included: the ranges sent are the ranges found, bit for bit."""
    manager.create_stream(scope, "epochs", 2)
    writer = manager.create_writer(scope, "epochs", 100)
    counts = [4, 2, 8, 3, 5, 2]
    for number, count in enumerate(counts):
        for key in KEYS:
            writer.write_event(f"{key}:{number}", key)
        edges = [i / count for i in range(count)] + [1.0]
        ranges = list(itertools.pairwise(edges))
        found = controller.scale(scope, "epochs", list(controller.segments(scope, "epochs")), ranges)
        assert list(found.values()) == ranges
        assert controller.segments(scope, "epochs") == found
    writer.flush()
    assert by_key(read_stream(manager, scope, "epochs", len(counts) * len(KEYS))) == expected(len(counts))
