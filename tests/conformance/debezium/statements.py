"""The statements that change a table of orders, as a seed decides them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pravega_lab.datasets import ORDER_STATUSES

SEED = 2013
SNAPSHOT_ORDERS = 40
_CUSTOMERS = ("Ann", "Ben", "Cora", "Dan", "Eve", "Finn", "Gus", "Hana")

Row = dict[str, Any]
#: Debezium's operation, the row before it, and the row after it.
Change = tuple[str, Row | None, Row | None]


def changes(seed: int = SEED) -> Iterator[Change]:
    """Yield the changes of the table, without end. The first are the rows of a snapshot.

    Only ``random()`` is used, which is the same in every version of Python.
    """
    chance = random.Random(seed)
    orders: list[Row] = []
    next_id = 1

    def below(count: int) -> int:
        return int(chance.random() * count)

    while True:
        if next_id <= SNAPSHOT_ORDERS or not orders or chance.random() < 0.2:
            row: Row = {
                "id": next_id,
                "customer": _CUSTOMERS[below(8)],
                "status": "placed",
                "cents": 100 + below(9_900),
            }
            orders.append(row)
            yield ("r" if next_id <= SNAPSHOT_ORDERS else "c"), None, row
            next_id += 1
            continue
        place = below(len(orders))
        row, step = orders[place], chance.random()
        if step < 0.06 or row["status"] == ORDER_STATUSES[-1]:  # cancelled, or old
            del orders[place]
            yield "d", row, None
        elif step < 0.2 and row["status"] == "placed":  # another item
            orders[place] = {**row, "cents": row["cents"] + 100 + below(2_000)}
            yield "u", row, orders[place]
        else:
            status = ORDER_STATUSES[ORDER_STATUSES.index(row["status"]) + 1]
            orders[place] = {**row, "status": status}
            yield "u", row, orders[place]


TABLE = "CREATE TABLE orders (id bigint PRIMARY KEY, customer text, status text, cents bigint);"
WHOLE_ROWS = "ALTER TABLE orders REPLICA IDENTITY FULL;"


def statement(change: Change) -> str:
    """Return the SQL of a change."""
    _, before, after = change
    if after is None:
        assert before is not None
        return f"DELETE FROM orders WHERE id = {before['id']};"
    if before is None:
        return "INSERT INTO orders VALUES ({id}, '{customer}', '{status}', {cents});".format(**after)
    return "UPDATE orders SET status = '{status}', cents = {cents} WHERE id = {id};".format(**after)
