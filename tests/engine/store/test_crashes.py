"""Any sequence of operations, crashes at any point, torn sectors: what was acknowledged is there, once.

The run keeps one state of the model per accepted submission. The storage shows the state of the acknowledged
prefix; after a crash that of a prefix at least as long. Each run is its seed.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any
from uuid import UUID

import pytest

from pravega_lab.engine.store.errors import StorageError
from pravega_lab.engine.store.log import operations as ops
from tests.engine.store.model import Model, Refused, picture
from tests.engine.store.storage_driver import Driver

NAMES = [f"s/a/{number}.#epoch.0" for number in range(4)]
TABLE = "s/t_kvtable/0.#epoch.0"
WRITERS = [UUID(int=1), UUID(int=2)]
KEYS = [b"k", b"kk", b"kkk"]


class Chooser:
    """Draws operations that mostly make sense for a state, and now and then do not."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance

    def operations(self, model: Model) -> tuple[ops.Operation, ...]:
        return tuple(self.operation(model) for _ in range(self.chance.choice((1, 1, 1, 2, 4))))

    def operation(self, model: Model) -> ops.Operation:
        kinds = {self.append: 40, self.create: 12, self.table: 15, self.merge: 8, self.truncate: 8}
        kinds |= {self.attribute: 6, self.record: 6, self.seal: 3, self.delete: 3}
        return self.chance.choices(list(kinds), list(kinds.values()))[0](model)

    def create(self, model: Model) -> ops.Operation:
        is_table = self.chance.random() < 0.2
        return ops.CreateSegment(TABLE if is_table else self.chance.choice(NAMES), is_table)

    def append(self, model: Model) -> ops.Operation:
        name = self.chance.choice(NAMES)
        size = self.chance.choice((0, 1, 30, 700, 3000, 9000))
        data, count = self.chance.randbytes(size), self.chance.randint(1, 9)
        known = model.segments.get(name)
        if self.chance.random() < 0.5:
            writer = self.chance.choice(WRITERS)
            last = known.attributes.get(writer, 0) if known else 0
            return ops.Append(name, data, count, writer, max(0, last) + self.chance.randint(0, 9))
        wanted = known.length if known and self.chance.random() < 0.7 else 7
        return ops.Append(name, data, count, expected_offset=self.chance.choice((None, wanted)))

    def table(self, model: Model) -> ops.Operation:
        known = model.segments.get(TABLE)
        picked = [self.chance.choice(KEYS) for _ in range(self.chance.randint(1, 3))]
        versions = [self._version(known.table.get(key) if known else None) for key in picked]
        if self.chance.random() < 0.3:
            return ops.RemoveTableKeys(TABLE, tuple(map(ops.TableRemoval, picked, versions)))
        values = [self.chance.randbytes(self.chance.randint(0, 9)) for _ in picked]
        return ops.UpdateTable(TABLE, tuple(map(ops.TableUpdate, picked, values, versions)))

    def _version(self, known: tuple[bytes, int] | None) -> int:
        right = known[1] if known else ops.NOT_EXISTS
        return self.chance.choices((ops.NO_VERSION, right, self.chance.randint(-1, 60)), (4, 5, 1))[0]

    def merge(self, model: Model) -> ops.Operation:
        return ops.Merge(self.chance.choice(NAMES[:2]), self.chance.choice(NAMES))

    def truncate(self, model: Model) -> ops.Operation:
        name = self.chance.choice(NAMES)
        known = model.segments.get(name)
        return ops.Truncate(name, self.chance.randint(0, known.length + 2) if known else 0)

    def attribute(self, model: Model) -> ops.Operation:
        name, attribute = self.chance.choice(NAMES), self.chance.choice(WRITERS)
        known = model.segments.get(name)
        right = known.attributes.get(attribute, ops.NO_VALUE) if known else 0
        expected = self.chance.choice((None, right, 1))
        return ops.SetAttribute(name, attribute, self.chance.randint(0, 99), expected)

    def record(self, model: Model) -> ops.Operation:
        value = None if self.chance.random() < 0.3 else self.chance.randbytes(self.chance.randint(0, 300))
        return ops.PutRecord(self.chance.choice("xyz"), value)

    def seal(self, model: Model) -> ops.Operation:
        return ops.Seal(self.chance.choice([*NAMES, TABLE]))

    def delete(self, model: Model) -> ops.Operation:
        return ops.Delete(self.chance.choice([*NAMES, TABLE]), self.chance.random() < 0.5)


class Run:
    """One storage, its model, and what was acknowledged."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.chooser = Chooser(self.chance)
        self.driver = Driver()
        self.states = [Model()]  # states[n]: after n accepted submissions
        self.acknowledged = 0

    def step(self) -> None:
        driver = self.driver
        steps: dict[Any, int] = {self.submit: 60, driver.take: 15, driver.finish: 15, self.sync: 5}
        steps |= {driver.write_snapshot: 5, self.crash: 4}
        self.chance.choices(list(steps), list(steps.values()))[0]()
        assert picture(driver.storage) == self.states[self.acknowledged].picture()

    def submit(self) -> None:
        model = copy.deepcopy(self.states[-1])
        operations = self.chooser.operations(model)
        refusal: Refused | None = None
        try:
            expected = model.submit(operations)
        except Refused as refused:
            refusal = refused
        if refusal is not None:
            with pytest.raises(StorageError) as caught:
                self.driver.submit(*operations)
            assert type(caught.value) is refusal.kind, operations
            return
        ticket = self.driver.submit(*operations)
        assert list(ticket.results) == expected
        self.states.append(model)
        number = len(self.states) - 1
        ticket.add_done(lambda _: self.acknowledge(number))

    def acknowledge(self, number: int) -> None:
        assert number == self.acknowledged + 1, "tickets complete in order"
        self.acknowledged = number

    def sync(self) -> None:
        self.driver.sync()
        assert self.acknowledged == len(self.states) - 1

    def crash(self) -> None:
        self.driver.crash(self.chance)
        shown = picture(self.driver.storage)
        possible = range(self.acknowledged, len(self.states))
        kept = next((n for n in possible if self.states[n].picture() == shown), None)
        assert kept is not None, "the state after a crash is none that was submitted and not yet told"
        del self.states[kept + 1 :]
        self.acknowledged = kept


@pytest.mark.parametrize("seed", range(60))
def test_what_was_acknowledged_survives(seed: int) -> None:
    run = Run(seed)
    for _ in range(120):
        run.step()
