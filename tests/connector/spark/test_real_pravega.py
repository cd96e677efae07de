"""The same source and sink on a released Pravega."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.client import connect
from tests.connector.spark.sink.test_sink import Copying, events, in_order
from tests.connector.spark.source.test_source import (
    assert_everything_once_in_order,
    options,
    read,
    scale_at_will,
)

pytestmark = [pytest.mark.spark, pytest.mark.real_pravega, pytest.mark.slow]


def test_a_batch_over_all_epochs(spark: Any, real_pravega: str, scope_name: Callable[[], str]) -> None:
    with connect(real_pravega) as client:
        stream = client.create_stream(f"{scope_name()}/in")
        scale_at_will(stream)
        rows = read(spark, options(stream)).load().collect()
    assert_everything_once_in_order([bytes(row.event) for row in rows], 500)


def test_a_copy_through_a_scale_and_replays(
    spark: Any, real_pravega: str, scope_name: Callable[[], str], tmp_path: Path
) -> None:
    with connect(real_pravega) as client:
        copying = Copying(spark, client, scope_name(), tmp_path)
        copying.write(0, 100)
        copying.run()
        copying.source.split(copying.source.segments()[0].segment_id)
        copying.target.split(copying.target.segments()[0].segment_id)
        copying.write(100, 200)
        copying.run()
        copying.forget_last_commit()
        copying.run()
        assert in_order(events(copying.target), 200)
