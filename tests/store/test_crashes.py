"""Any sequence of operations, crashes at any point, torn sectors: what was acknowledged is there, once.

The machine holds a list of the model's states, one per accepted submission. The storage shows the state of the
acknowledged prefix; after a crash that of a prefix at least as long.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pravega_lab.engine.store import operations as ops
from pravega_lab.engine.store.errors import StorageError
from tests.store.driver import Driver
from tests.store.model import Model, Refused, picture

NAMES = st.sampled_from(["s/a/0.#epoch.0", "s/a/1.#epoch.0", "s/a/2.#epoch.1"])
TABLES = st.sampled_from(["s/t_kvtable/0.#epoch.0"])
ANY = st.one_of(NAMES, TABLES)
WRITERS = st.sampled_from([UUID(int=1), UUID(int=2)])
KEYS = st.sampled_from([b"k", b"kk", b"kkk"])
VERSIONS = st.one_of(st.just(ops.NO_VERSION), st.just(-1), st.integers(0, 60))
DATA = st.one_of(st.binary(max_size=30), st.integers(0, 6000).map(lambda n: bytes([n % 251 + 1]) * n))
OPERATIONS: Any = st.one_of(
    st.builds(ops.CreateSegment, NAMES),
    st.builds(ops.CreateSegment, TABLES, st.just(True)),
    st.builds(ops.Append, NAMES, DATA, st.integers(1, 9)),
    st.builds(ops.Append, NAMES, DATA, st.integers(1, 9), WRITERS, st.integers(0, 50)),
    st.builds(ops.Append, ANY, DATA, expected_offset=st.integers(0, 40)),
    st.builds(ops.Seal, ANY),
    st.builds(ops.Truncate, ANY, st.integers(0, 6000)),
    st.builds(ops.Delete, ANY, st.booleans()),
    st.builds(ops.Merge, NAMES, NAMES),
    st.builds(ops.SetAttribute, ANY, WRITERS, st.integers(0, 3), st.none() | st.integers(0, 3)),
    st.builds(
        ops.UpdateTable,
        TABLES,
        st.lists(st.builds(ops.TableUpdate, KEYS, st.binary(max_size=9), VERSIONS), max_size=3).map(tuple),
    ),
    st.builds(
        ops.RemoveTableKeys,
        TABLES,
        st.lists(st.builds(ops.TableRemoval, KEYS, VERSIONS), max_size=2).map(tuple),
    ),
    st.builds(ops.PutRecord, st.sampled_from(["x", "y"]), st.none() | st.binary(max_size=9)),
)


class Crashes(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver()
        self.states = [Model()]  # states[n]: after n accepted submissions
        self.acknowledged = 0

    @rule(operations=st.lists(OPERATIONS, min_size=1, max_size=4).map(tuple))
    def submit(self, operations: tuple[ops.Operation, ...]) -> None:
        model = copy.deepcopy(self.states[-1])
        try:
            expected = model.submit(operations)
        except Refused as refusal:
            with pytest.raises(StorageError) as caught:
                self.driver.submit(*operations)
            assert type(caught.value) is refusal.kind
            return
        ticket = self.driver.submit(*operations)
        assert list(ticket.results) == expected
        self.states.append(model)
        number = len(self.states) - 1
        ticket.add_done(lambda _: self.acknowledge(number))

    def acknowledge(self, number: int) -> None:
        assert number == self.acknowledged + 1, "tickets complete in order"
        self.acknowledged = number

    @rule()
    def take(self) -> None:
        self.driver.take()

    @rule()
    def finish(self) -> None:
        self.driver.finish()

    @rule()
    def sync(self) -> None:
        self.driver.sync()
        assert self.acknowledged == len(self.states) - 1

    @rule()
    def snapshot(self) -> None:
        self.driver.write_snapshot()

    @precondition(lambda self: len(self.states) > 1)
    @rule(seed=st.integers(0, 1 << 30))
    def crash(self, seed: int) -> None:
        self.driver.crash(Random(seed))
        shown = picture(self.driver.storage)
        kept = next(
            (n for n in range(self.acknowledged, len(self.states)) if self.states[n].picture() == shown), None
        )
        assert kept is not None, "the state after a crash is none that was submitted and not yet told"
        del self.states[kept + 1 :]
        self.acknowledged = kept

    @invariant()
    def shows_what_is_acknowledged(self) -> None:
        assert picture(self.driver.storage) == self.states[self.acknowledged].picture()


Crashes.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
test_crashes = Crashes.TestCase
