"""The recorded messages of Debezium are those of the statements, and the format reads what they say."""

from __future__ import annotations

import itertools
import json

import pyarrow as pa
import pytest

from pravega_lab.connector.rows.formats import row_format
from pravega_lab.datasets import ORDER_CHANGES, order_changes
from pravega_lab.errors import BadInputError
from tests.conformance.debezium.statements import changes


def test_the_recording_has_the_statements_in_their_order() -> None:
    messages = [json.loads(event) for event in order_changes().events.to_pylist()]
    found = [(message["op"], message["before"], message["after"]) for message in messages]
    assert found == list(itertools.islice(changes(), ORDER_CHANGES))
    sources = [message["source"] for message in messages]
    assert {source["connector"] for source in sources} == {"postgresql"}
    places = [source["lsn"] for source in sources if source["snapshot"] == "false"]
    assert places == sorted(places)  # in the log of the database


def test_the_format_reads_the_rows_of_the_database() -> None:
    half = order_changes(1500)
    columns = [("id", pa.int64()), ("cents", pa.int64()), ("_row_kind", pa.string())]
    columns += [("_source_table", pa.string()), ("_source_timestamp", pa.timestamp("us", "UTC"))]
    rows = row_format("debezium-json", pa.schema(columns)).parse(half.events).to_pylist()
    assert {row["_source_table"] for row in rows} == {"orders"}
    assert all(row["_source_timestamp"].year >= 2026 for row in rows)
    signed = sum(row["cents"] * (1 if row["_row_kind"] in ("+I", "+U") else -1) for row in rows)
    assert signed == half.orders["cents"].sum()
    assert half.keys.to_pylist() == [str(json.loads(e)["after" if b'"after":{' in e else "before"]["id"])
                                     for e in half.events.to_pylist()]  # fmt: skip


def test_a_number_of_changes_that_was_not_recorded_is_refused() -> None:
    for limit in (0, ORDER_CHANGES + 1):
        with pytest.raises(BadInputError, match="give a number of changes from 1 to 3,000"):
            order_changes(limit)
