"""`DamageScenario`: the files of a store are damaged between two lives, or while it runs.

One file has bits flipped or a sector zeroed, is cut, or is removed. The store must then refuse to open, or
contain what was acknowledged. After a crash, damage inside the last group looks like a torn tail:
the store may cut that group, and has to report it. What readers receive is what was written, or an error.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from pravega_lab.portable.waiting import gather, wait_for

from ....server.pump import Pump
from ....store.errors import CorruptStoreError, StoreVersionError
from ....store.log.format import FILE_HEADER_BYTES, SECTOR_BYTES, file_id_of
from ....store.log.history import HISTORY_NAME, Stop, encode_history
from ....store.storage.recovery import open_storage
from ....store.storage.storage import Storage
from ...kernel.process import Process
from ..storage_model import StorageModel, content_of
from ..storage_scenario import FILE_BYTES, SEGMENTS, STEPS_PER_LIFE, WRITERS, StorageScenario

LIVES = 3
DAMAGES = 20
DRAIN_S = 60.0
CREATE_US_MAX = 20_000

LOST = "nothing is lost silently"
REPORTED = "cuts are reported"
VERIFIED = "reads are verified"


class DamageScenario(StorageScenario):
    """The scenario for one seed: after the last life one damage after the other, or one while it runs."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._groups: dict[int, int] = {}  # submission -> the group that made it durable
        self._storage: Storage | None = None

    async def run(self) -> list[str]:
        """Run some lives, damage a file, and return what is wrong with what a reader or the store saw."""
        self.disk.conditions.slow_chance = self.chance.choice((0.0, 0.1))
        self.disk.conditions.slow_us_max = 50_000
        self.disk.conditions.create_us_max = self.chance.choice((0, CREATE_US_MAX))
        for life in range(LIVES):
            # Without a spare, or room for one, the newest log file is the one that is written.
            self.disk.conditions.capacity_bytes = self.chance.choice((1 << 40, 3 * FILE_BYTES))
            process = self.loop.spawn_process(f"store-{life}")
            storage = self._storage = open_storage(self.disk, new_store_id=b"s" * 16, file_bytes=FILE_BYTES)
            self._compare(storage)
            self.disk.zero_cuts(storage.recovery.cuts)
            if life and self.chance.random() < 0.4:
                return await self._damaged_while_running(process, storage)
            pump = process.spawn(Pump(storage, self.disk).run(), name="pump")
            await self._live(process, storage, pump)
            in_order = await self._end(process, storage, pump)
            self._remove_each(in_order)
        kept = self.disk.copy_files()
        for _ in range(DAMAGES if kept else 0):  # a short life may end before there is a file
            kind = self._damage_a_file()
            if kind is not None:
                self._judge(kind, in_order)
            self.disk.replace_files(kept)
        return self.problems

    # -- the end of a life ---------------------------------------------------------------------------------

    async def _end(self, process: Process, storage: Storage, pump: asyncio.Task[None]) -> bool:
        """Stop the store in order, or crash it. Return whether it was stopped in order."""
        in_order = self.chance.random() < 0.5
        if in_order:
            self.disk.conditions.heal()  # a stop in order waits until everything is on the disk
            settled = asyncio.Event()
            storage.barrier().add_done(lambda ticket: settled.set())
            await wait_for(settled.wait(), DRAIN_S)
            pump.cancel()  # it writes the history too, so the record of the stop comes after it has ended
            await gather(pump, return_exceptions=True)
            place = storage.synced_place()
            assert place is not None, "a drained storage has a last group"
            storage.history = replace(storage.history, stop=Stop(*place))
            await self.disk.write_file(HISTORY_NAME, encode_history(storage.history))
        process.kill()
        self.disk.crash()
        self.journal.add("world", "stop" if in_order else "crash", acked=self._acked)
        return in_order

    def _done(self, number: int, ticket: object) -> None:
        super()._done(number, ticket)  # type: ignore[arg-type]
        if self._acked == number and self._storage is not None:
            self._groups[number] = self._storage._files.sequence

    # -- damage at rest ------------------------------------------------------------------------------------

    def _remove_each(self, in_order: bool) -> None:
        """Open the store without each of its log files in turn."""
        kept = self.disk.copy_files()
        for name in kept:
            if file_id_of(name) is not None and self._happens("remove", name):
                self._judge(self._remove(name), in_order)
                self.disk.replace_files(kept)

    def _judge(self, kind: tuple[str, str, int], in_order: bool) -> None:
        """Open the damaged store, and compare what is in it with what was acknowledged."""
        try:
            storage = open_storage(self.disk, file_bytes=FILE_BYTES)
            found = content_of(storage, WRITERS)
        except (CorruptStoreError, StoreVersionError) as refusal:
            self.journal.add("world", "refused", why=str(refusal)[:200])
            return
        first = self._acked if in_order or kind[0] == "remove" else self._before_last_group()
        if kind[0] == "zero" and not in_order:
            first = 0  # several small groups may be in one sector
        counts = [n for n in range(first, len(self._submitted) + 1) if self._is(n, found)]
        if not counts:
            self.problems.append(
                f"{LOST}: after {kind} the store opened, with no state between submissions {first} and"
                f" {len(self._submitted)}"
            )
        elif max(counts) < self._acked and not storage.recovery.cuts and kind[0] != "zero":
            self.problems.append(
                f"{REPORTED}: after {kind} submission {self._acked} was gone, and no cut was reported"
            )

    def _before_last_group(self) -> int:
        """Return how many submissions were durable before the last group.

        A group that was recovered without having been acknowledged has no number here.
        """
        last, count = self._groups.get(self._acked), self._acked
        while count and self._groups.get(count) == last:
            count -= 1
        return count

    def _is(self, count: int, found: dict[str, object]) -> bool:
        model: StorageModel = self._replayed(count)
        return model.content() == found

    def _happens(self, kind: str, file: str = "") -> bool:
        return self.loop.faults.happens("disk", f"damage: {kind}", file)

    def _damage_a_file(self) -> tuple[str, str, int] | None:
        """Damage one file, and return what was done, to which file, and where; None if it does not happen."""
        chance, files = self.chance, self.disk.files()
        logs = [name for name in files if file_id_of(name) is not None]
        kind = chance.choice(("flip", "flip", "cut", "remove", "zero"))
        names = [name for name in files if files[name]]
        if logs and chance.random() < (0.5 if kind == "remove" else 0.2):
            names = logs[-1:]  # what was written last
        name = chance.choice(names or logs)
        place = chance.randrange(self._used(name, files[name]))
        bits = 1 << chance.randrange(8) if kind == "flip" else 0
        if not self._happens(kind, name):
            return None
        if kind == "flip":
            self.disk.flip(name, place, bits)
        elif kind == "cut":
            self.disk.cut(name, place)
        elif kind == "remove":
            return self._remove(name)
        else:
            place -= place % SECTOR_BYTES
            self.disk.zero(name, place, SECTOR_BYTES)
        self.disk.faults[f"damage: {kind}"] += 1
        self.journal.add("world", "damage", kind=kind, file=name, place=place)
        return kind, name, place

    def _remove(self, name: str) -> tuple[str, str, int]:
        self.disk.delete(name)
        self.disk.forget_removals()
        self.disk.faults["damage: remove"] += 1
        self.journal.add("world", "damage", kind="remove", file=name)
        return "remove", name, 0

    def _used(self, name: str, size: int) -> int:
        """Return where the part of a file ends that is worth damaging: zeros follow the last group."""
        if file_id_of(name) is None:
            return size
        return max(FILE_HEADER_BYTES, len(self.disk.read(name, 0, size).rstrip(b"\0")))

    # -- damage while the store runs -----------------------------------------------------------------------

    async def _damaged_while_running(self, process: Process, storage: Storage) -> list[str]:
        if self.chance.random() < 0.3:
            await self._remove_under(process, storage)
        else:
            self._flip_under(storage)
        process.kill()
        return self.problems

    def _flip_under(self, storage: Storage) -> None:
        """Flip bits in every log file, and read what nobody has read before."""
        fresh = open_storage(self.disk, file_bytes=FILE_BYTES)
        for name, size in self.disk.files().items():
            if file_id_of(name) is not None:
                for _ in range(4):
                    place = self.chance.randrange(FILE_HEADER_BYTES, self._used(name, size) + 1)
                    if place < size:
                        bits = 1 << self.chance.randrange(8)
                        if not self._happens("flip while running", name):
                            continue
                        self.disk.flip(name, place, bits)
                        self.disk.faults["damage: flip while running"] += 1
        for segment in SEGMENTS:
            model = self._model.segments.get(segment)
            if model is None or model.start == len(model.data):
                continue
            try:
                data = fresh.read(segment, model.start, len(model.data)).data
            except CorruptStoreError:
                continue
            if not model.data[model.start :].startswith(data):
                self.problems.append(f"{VERIFIED}: a reader of {segment} received bytes that nobody wrote")

    async def _remove_under(self, process: Process, storage: Storage) -> None:
        """Remove the file that is written. From then on nothing may be acknowledged."""
        pump = process.spawn(Pump(storage, self.disk).run(), name="pump")
        process.run(self._submit, storage)
        await asyncio.sleep(1.0)
        if not self._happens("removed while running"):
            return
        for name in self.disk.files():
            self.disk.delete(name)
        self.disk.faults["damage: removed while running"] += 1
        submitted, acked, written = len(self._submitted), self._acked, storage._files.current
        for _ in range(STEPS_PER_LIFE):
            if not pump.done():
                process.run(self._submit, storage)
            await asyncio.sleep(0.1)
        has_failed = pump.done() and isinstance(pump.exception(), OSError)
        if storage._files.current is not written:
            return  # it was full, and the next one is there
        changing = [n for n in range(acked + 1, len(self._submitted) + 1) if self._changes_something(n)]
        if changing and changing[-1] > submitted and not has_failed:
            self.problems.append(f"{LOST}: the store continues without its log file")
        n_lost = sum(n <= self._acked for n in changing)
        if n_lost:
            self.problems.append(f"{LOST}: {n_lost} submissions were acknowledged into no file")

    def _changes_something(self, number: int) -> bool:
        """Return whether a submission changes the state. A repeated merge does not, and is not in the log."""
        return self._replayed(number).content() != self._replayed(number - 1).content()
