"""Routing keys from expressions."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from pravega_lab.connector.rows.key_expression import check_expression, keys_by
from pravega_lab.errors import BadInputError

ROWS = pa.RecordBatch.from_pydict(
    {
        "id": [1, 8, None],
        "item": ["tea", "cup", None],
        "price": pa.array([Decimal("2.50"), None, Decimal("0.10")], pa.decimal128(10, 2)),
        "sold": pa.array(
            [datetime(2026, 1, n, 23, tzinfo=UTC) for n in (1, 2, 3)], pa.timestamp("us", "UTC")
        ),
        "buyer": [{"name": "ann"}, {"name": "ben"}, None],
        "Item": [1, 2, 3],
        "_id": ["a", "b", "c"],
    }
)
PLAIN = ROWS.drop_columns(["Item"])


@pytest.mark.parametrize(
    ("expression", "keys"),
    [
        ("id", ["1", "8", None]),
        ("id % 7", ["1", "1", None]),
        ("upper(item) || '-' || coalesce(id, 0)", ["TEA-1", "CUP-8", None]),
        ("concat_ws('/', item, price)", ["tea/2.50", "cup", "0.10"]),
        ("CASE WHEN price > 1 THEN 'dear' ELSE item END -- a comment", ["dear", "cup", None]),
        ("strftime(sold, '%Y-%m-%d')", ["2026-01-01", "2026-01-02", "2026-01-03"]),
        ("CAST(sold AS DATE)", ["2026-01-01", "2026-01-02", "2026-01-03"]),
        ("buyer.name", ["ann", "ben", None]),
        ("id IN (1, 2) AND NOT item LIKE 'c%'", ["true", "false", None]),
        ('"_id"', ["a", "b", "c"]),
    ],
)
def test_an_expression_of_columns_is_evaluated(expression: str, keys: list[str | None]) -> None:
    check_expression(expression, PLAIN.schema)
    assert keys_by(expression, PLAIN).to_pylist() == keys
    assert keys_by(expression, PLAIN.slice(1)).to_pylist() == keys[1:]


def test_the_order_of_many_rows_is_kept() -> None:
    rows = pa.RecordBatch.from_pydict({"id": range(300_000)})
    assert keys_by("id + 1", rows).to_pylist() == [str(number) for number in range(1, 300_001)]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("upper(itm)", "the rows have no column 'itm', but id, item"),
        ("upper(item", "syntax error"),
        ("id, item", "it calls 'row', which is not allowed"),
        ("id) , (item", "more than one"),
        ("id) FROM read_text('/etc/passwd') --", "syntax error"),
        ("id); SELECT (1", "more than one expression"),
        ("id) UNION SELECT (id", "more than one expression"),
        ("(SELECT content FROM read_text('/etc/passwd'))", "it has a subquery"),
        ("row_number() OVER (ORDER BY id)", "it has a window"),
        ("count(id)", "it calls 'count'"),
        ("count(*)", "it calls 'count_star'"),
        ("unnest([id])", "it calls 'unnest'"),
        ("id + random()", "it calls 'random', which is not allowed"),
        ("id + epoch(now())", "it calls '(epoch|now)'"),
        ("getenv('HOME') || item", "it calls 'getenv', which is not known"),
        ("current_setting('threads') || item", "it calls 'current_setting'"),
        ("nextval('a') + id", "it calls 'nextval'"),
        ("list_transform([id], lambda x: x)", "it has a lambda|syntax error"),
        ("*", "it has a star"),
        ("$1", "it has a parameter"),
        ("current_timestamp", "no column 'current_timestamp'"),
        ("rows.id", "no column 'rows'"),
        ("'a'", "names no column"),
        ("", "syntax error"),
        ("upper(price)", "No function matches"),
    ],
)
def test_what_is_no_expression_of_columns_is_refused(expression: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words) as raised:
        check_expression(expression, PLAIN.schema)
    assert f"option 'routing_key' is '{expression}'" in str(raised.value)


def test_columns_that_differ_in_capital_letters_are_not_confused() -> None:
    with pytest.raises(BadInputError, match="another column differs from 'item' in capital letters only"):
        check_expression("item", ROWS.schema)
    check_expression("id", ROWS.schema)


def test_a_row_for_which_the_expression_fails_is_an_error() -> None:
    with pytest.raises(BadInputError, match="Could not convert string 'tea' to INT32"):
        keys_by("CAST(item AS INT)", PLAIN)
