"""`StorageScenario`: random submissions to the storage alone, crashes at any time, and a model to compare
with.

After every crash the recovered storage must be equal to the model after some prefix of the submissions. The
prefix contains every acknowledged submission. Everything that a reader saw before the crash must still be
there, because readers see only synced state.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import asdict
from typing import Any
from uuid import UUID

from ...server.pump import Pump
from ...store.errors import StorageError, StoreFailed, StoreFull
from ...store.log import operations as ops
from ...store.storage.recovery import open_storage
from ...store.storage.storage import Storage, Ticket
from ..kernel.disk import SimulatedDisk
from ..kernel.journal import Journal
from ..kernel.loop import SimulationLoop
from ..kernel.process import Process
from .storage_model import Refused, StorageModel, content_of

SEGMENTS = ("a", "b", "c", "a#1", "b#1")
TABLES = ("t", "u")
KEYS = (b"k", b"l", b"m")
WRITERS = tuple(UUID(int=n) for n in range(1, 4))
FILE_BYTES = 4096
LIVES = 4
STEPS_PER_LIFE = 40


class StorageScenario:
    """Runs the scenario for one seed."""

    def __init__(self, loop: SimulationLoop, journal: Journal) -> None:
        self.loop = loop
        self.journal = journal
        self.chance = loop.random("workload")
        self.disk = SimulatedDisk(loop.random("disk"), loop.faults)
        self.problems: list[str] = []
        self._submitted: list[list[ops.Operation]] = []
        self._acked = 0  # number of acknowledged submissions, counted from the first
        self._seen: list[tuple[str, int, int, bytes]] = []
        self._model = StorageModel()  # the state after all accepted submissions
        self._shown = StorageModel()  # the state after all acknowledged submissions

    @property
    def faults(self) -> Counter[str]:
        """The number of faults so far, by kind."""
        return self.disk.faults

    async def run(self) -> list[str]:
        """Run all lives of the storage, and return the problems found."""
        self._draw_conditions()
        process: Process | None = None
        for life in range(LIVES):
            if process is None:
                process = self.loop.spawn_process(f"store-{life}")
                storage = open_storage(self.disk, new_store_id=b"s" * 16, file_bytes=FILE_BYTES)
                self._compare(storage)
                self.disk.zero_cuts(storage.recovery.cuts)
                pump = process.spawn(Pump(storage, self.disk).run(), name="pump")
            await self._live(process, storage, pump)
            is_last = life == LIVES - 1
            if not is_last and not pump.done() and not self.loop.faults.happens("world", "store crash"):
                continue
            process.kill()
            process = None
            self.disk.crash()
            self.journal.add("world", "crash", acked=self._acked, submitted=len(self._submitted))
        self._compare(open_storage(self.disk, file_bytes=FILE_BYTES))
        return self.problems

    def _draw_conditions(self) -> None:
        conditions, chance = self.disk.conditions, self.chance
        conditions.slow_chance = chance.choice((0.0, 0.1))
        conditions.slow_us_max = 50_000
        conditions.fail_chance = chance.choice((0.0, 0.0, 0.02))
        conditions.capacity_bytes = chance.choice((1 << 40, 3 * FILE_BYTES))
        self.journal.add("world", "faults", **asdict(conditions))

    async def _live(self, process: Process, storage: Storage, pump: asyncio.Task[None]) -> None:
        for _ in range(self.loop.faults.plan.rounds(self.chance.randrange(STEPS_PER_LIFE))):
            if pump.done():
                break
            process.run(self._submit, storage)
            self._look(storage)
            if self.chance.random() < 0.6:
                await asyncio.sleep(self.chance.randint(0, 4000) / 1_000_000)

        if pump.done() and not isinstance(pump.exception(), OSError):
            self.problems.append(f"the pump ended: {pump.exception()!r}")

    def _submit(self, storage: Storage) -> None:
        operations = [self._draw_operation() for _ in range(self.chance.choice((1, 1, 1, 2, 3)))]
        try:
            ticket = storage.submit(operations, now_ms=self.loop.now_us // 1000)
        except (StoreFull, StoreFailed):
            return
        except StorageError as refused:
            self._expect_refusal(operations, refused)
            return
        try:
            expected = self._model.submit(operations)
        except Refused as refused:
            self.problems.append(f"{operations} was taken; the model refuses ({refused})")
            return
        if list(ticket.results) != expected:
            self.problems.append(f"{operations} gave {ticket.results}; the model says {expected}")
        self._submitted.append(operations)
        number = len(self._submitted)
        self.journal.add("client", "submit", n=number, operations=[repr(op) for op in operations])
        ticket.add_done(lambda done: self._done(number, done))

    def _expect_refusal(self, operations: list[ops.Operation], error: StorageError) -> None:
        try:
            self._model.submit(operations)
        except Refused:
            return
        self.problems.append(f"{operations} was refused ({error!r}); the model takes it")

    def _done(self, number: int, ticket: Ticket) -> None:
        if ticket.failure is not None:
            return
        if number != self._acked + 1:
            self.problems.append(f"submission {number} was acknowledged after {self._acked}")
        self._acked = number
        self._shown.replay(self._submitted[number - 1])
        self.journal.add("store", "acked", n=number)

    def _look(self, storage: Storage) -> None:
        """Remember what a reader sees now."""
        name = self.chance.choice(SEGMENTS)
        if storage.exists(name):
            info = storage.info(name)
            data = storage.read(name, info.start_offset, info.length).data
            self._seen.append((name, self._shown.segments[name].generation, info.start_offset, data))

    def _replayed(self, count: int) -> StorageModel:
        model = StorageModel()
        for operations in self._submitted[:count]:
            model.replay(operations)
        return model

    # -- after a crash -------------------------------------------------------------------------------------

    def _compare(self, storage: Storage) -> None:
        found = content_of(storage, WRITERS)
        model = self._replayed(self._acked)
        for count in range(self._acked, len(self._submitted) + 1):
            if count > self._acked:
                model.replay(self._submitted[count - 1])
            if model.content() == found:
                break
        else:
            self.problems.append(
                f"recovered is no state between submissions {self._acked} and {len(self._submitted)}: "
                f"{_difference(self._replayed(self._acked).content(), found)}"
            )
            count, model = self._acked, self._replayed(self._acked)
        self._check_seen(model)
        self._submitted = self._submitted[:count]
        self._acked, self._model, self._shown = count, model, self._replayed(count)
        self.journal.add("world", "recovered", count=count)

    def _check_seen(self, model: StorageModel) -> None:
        for name, generation, offset, data in self._seen:
            segment = model.segments.get(name)
            if segment is not None and segment.generation == generation:
                left = data[max(0, segment.start - offset) :]
                at = max(segment.start, offset)
                if segment.data[at : at + len(left)] != left:
                    self.problems.append(f"a reader of {name} was shown {left!r} at {at}; a crash removed it")
        self._seen.clear()

    # -- what is submitted ---------------------------------------------------------------------------------

    def _draw_operation(self) -> ops.Operation:
        kinds = (self._append,) * 8 + (self._create,) * 3 + (self._update,) * 3 + (self._other,) * 3
        return self.chance.choice(kinds)()

    def _append(self) -> ops.Operation:
        chance = self.chance
        name = chance.choice(SEGMENTS)
        data = f"<{chance.getrandbits(30)}>".encode() * chance.choice((1, 3, 200))
        segment = self._model.segments.get(name)
        if chance.random() < 0.2 and segment is not None:
            return ops.Append(name, data, expected_offset=len(segment.data) - chance.choice((0, 0, 1)))
        if chance.random() < 0.5:
            return ops.Append(name, data)
        writer = chance.choice(WRITERS)
        last = segment.writers.get(writer, ops.NO_VALUE) if segment else ops.NO_VALUE
        number = max(0, last) + chance.choice((0, 1, 2))
        return ops.Append(name, data, 1, writer, number, last if number > last else None)

    def _create(self) -> ops.Operation:
        name = self.chance.choice(SEGMENTS + TABLES)
        return ops.CreateSegment(name, is_table=name in TABLES)

    def _update(self) -> ops.Operation:
        chance = self.chance
        name, key = chance.choice(TABLES), chance.choice(KEYS)
        table = self._model.segments[name].table if name in self._model.segments else {}
        _, version = table.get(key, (b"", ops.NOT_EXISTS))
        wanted = chance.choice((ops.NO_VERSION, version, version, ops.NOT_EXISTS, 7))
        if chance.random() < 0.2:
            return ops.RemoveTableKeys(name, (ops.TableRemoval(key, max(wanted, ops.NO_VERSION)),))
        return ops.UpdateTable(name, (ops.TableUpdate(key, str(chance.getrandbits(20)).encode(), wanted),))

    def _other(self) -> ops.Operation:
        chance = self.chance
        name = chance.choice(SEGMENTS)
        segment = self._model.segments.get(name)
        length = len(segment.data) if segment else 0
        choices: tuple[Any, ...] = (
            ops.Seal(name),
            ops.Truncate(name, chance.randint(0, length + 1)),
            ops.Delete(chance.choice(SEGMENTS + TABLES), chance.random() < 0.5),
            ops.Merge(chance.choice(("a", "b")), chance.choice(("a#1", "b#1"))),
            ops.PutRecord(chance.choice("xyz"), chance.choice((None, b"1", b"22"))),
        )
        operation: ops.Operation = chance.choice(choices)
        return operation


def _difference(expected: dict[str, Any], found: dict[str, Any]) -> str:
    for part in ("records", "segments"):
        for name in sorted({*expected[part], *found[part]}):
            wanted, got = expected[part].get(name), found[part].get(name)
            if wanted != got:
                return f"{part}[{name!r}] is {got!r:.300}, and was acknowledged as {wanted!r:.300}"
    return "no difference"
