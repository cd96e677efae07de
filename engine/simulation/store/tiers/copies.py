"""`CopiesScenario`: two machines, one folder in tier 2, and two copies of one store.

A store that is stopped is copied to the other machine, or rebuilt there from tier 2, and a backup of one that
runs is restored there. Then either of them may be started, also while the other runs. Only the one that took
tier 2 last may continue, and it has all that was acknowledged there. What the other one has moved must still
be in tier 2.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from uuid import UUID

from ....server.runner import StoreRunner
from ....server.tiers.rebuild import rebuild
from ....store.errors import CorruptStoreError, StorageError, TierMismatch
from ....store.log.chunks import OWNER, owner_in
from ....store.log.history import HISTORY_NAME, encode_history, read_history
from ....store.log.operations import Append, CreateSegment
from ....store.storage.storage import Ticket
from ....store.storage.tiered import Tiered
from ...kernel.disk import SimulatedDisk
from ...kernel.journal import Journal
from ...kernel.loop import SimulationLoop
from ...kernel.objects import SimulatedObjects
from ...kernel.process import Process
from ..store_process import WALL_START_MS, begin_at_once
from ..tier import draw_settings, draw_tier_trouble, read_whole

FILE_BYTES = 4096
STEPS = 60
SEGMENT = "a"
PATIENCE_S = 120.0
"""How long a store without faults may take to find out whether tier 2 is its own, and to move what it has."""

KEPT = "nothing that a copy has is lost"
LAST_CONTINUES = "the store that took tier 2 last continues"
NEWER = "Tier 2 has a snapshot"
"""Why it may be refused all the same: another one stored a snapshot until it had taken tier 2."""


class Machine:
    """A disk with a copy of the store, or without one, and the store that runs on it.

    ``acked`` is what was acknowledged on this disk, ``sent`` what may be there, too.
    """

    def __init__(self, name: str, loop: SimulationLoop, journal: Journal, objects: SimulatedObjects) -> None:
        self.name, self.objects = name, objects
        self.disk = SimulatedDisk(loop.random(f"disk of {name}"), loop.faults)
        self.acked = self.sent = b""
        self.is_dropped = False  # a rebuilt store has taken its place
        self.problems: list[str] = []
        self.runner: StoreRunner | None = None
        self.running: asyncio.Task[None] | None = None
        self._loop, self._journal = loop, journal
        self._settings = draw_settings(loop.random(f"settings of {name}"))
        self._ids = loop.random(f"ids of {name}")
        self._process: Process | None = None

    @property
    def is_up(self) -> bool:
        """Return whether a store runs here, and has not ended by itself."""
        return self.running is not None and not self.running.done()

    def start(self) -> None:
        """Start a store on the disk, and let it create the segment if it is new."""
        self._journal.add(self.name, "start", life=1)
        self._process = self._loop.spawn_process(f"store of {self.name}")
        self.runner = self.open()
        begin_at_once(self.runner, self.disk)
        self.running = self._process.spawn(self.runner.run(), name=f"store of {self.name}")
        storage = self.runner.storage
        length = storage.info(SEGMENT).length if storage.exists(SEGMENT) else 0
        if length < len(self.acked):
            self.problems.append(
                f"{KEPT}: {self.name} has {length} of {len(self.acked)} bytes after a restart"
            )
        self.acked = self.sent = self.sent[:length]
        if not storage.exists(SEGMENT):
            self._process.run(lambda: storage.submit([CreateSegment(SEGMENT)], now_ms=0))

    def open(self) -> StoreRunner:
        """Return a store on the disk that does not run yet."""
        return StoreRunner(
            *(self.disk, self._loop, lambda: WALL_START_MS + self._loop.now_us // 1000, self._new_id),
            file_bytes=FILE_BYTES,
            objects=self.objects,
            tier_settings=self._settings,
        )

    def write(self, data: bytes) -> None:
        """Append to the segment, if the store takes it."""
        assert self._process is not None
        self._process.run(self._submit, data)

    def _submit(self, data: bytes) -> None:
        assert self.runner is not None
        try:
            ticket = self.runner.storage.submit([Append(SEGMENT, data)], now_ms=self.runner.now_ms())
        except StorageError:  # its log is full, because tier 2 does not take anything
            return
        self.sent += data
        length = len(self.sent)
        ticket.add_done(lambda ticket: self._written(ticket, length))

    def _written(self, ticket: Ticket, length: int) -> None:
        if ticket.failure is None:
            self.acked = self.sent[:length]

    def kill(self) -> None:
        """End the store without warning, if it has not ended by itself."""
        if self._process is None:
            return
        if self.running is not None and self.running.done():
            self.running.exception()  # it was refused
        self._process.kill()
        self.disk.crash()
        self.objects.crash()
        self._journal.add(self.name, "crash", life=1)
        self._process = self.running = self.runner = None

    def _new_id(self) -> UUID:
        return UUID(int=self._ids.getrandbits(128), version=4)


class CopiesScenario:
    """Runs the scenario for one seed."""

    def __init__(self, loop: SimulationLoop, journal: Journal) -> None:
        self.problems: list[str] = []
        self._loop, self._journal = loop, journal
        self._chance: Random = loop.random("copies")
        self._objects = SimulatedObjects(loop.random("tier"), loop.faults)
        draw_tier_trouble(self._objects, self._chance)
        self._objects.conditions.owner_slow_chance = self._chance.choice((0.0, 0.5))
        folders = (self._objects, self._objects.of_another_machine(loop.random("tier of two")))
        names = ("one", "two")
        self._machines = [
            Machine(*(name, loop, journal), objects) for name, objects in zip(names, folders, strict=True)
        ]
        self._writes = 0
        self._given_up: list[bytes] = []  # contents of copies that another one has replaced

    @property
    def faults(self) -> Counter[str]:
        """The number of faults so far, by kind."""
        total: Counter[str] = Counter()
        for machine in self._machines:
            total += machine.objects.faults + machine.disk.faults
        return total

    async def run(self) -> list[str]:
        """Run the story, and return what is wrong."""
        self._machines[0].start()
        for _ in range(self._loop.faults.plan.rounds(self._chance.randint(STEPS // 3, STEPS))):
            machine = self._chance.choice(self._machines)
            await self._step(machine)
            await asyncio.sleep(self._chance.choice((0.0, 0.01, 0.3)) * self._chance.random())
        await self._judge()
        return [*self.problems, *(problem for machine in self._machines for problem in machine.problems)]

    async def _step(self, machine: Machine) -> None:
        other = self._other(machine)
        if machine.is_up:
            if self._chance.random() < 0.15 and self._loop.faults.happens(
                "world", "store crash", machine.name
            ):
                machine.kill()
            else:
                self._write(machine)
            return
        machine.kill()
        has_store = bool(machine.disk.files())
        kind = self._chance.choice(
            ("start", "start", "copy", "rebuild") if has_store else ("copy", "rebuild")
        )
        if kind == "start":
            machine.start()
        elif kind == "copy" and other.disk.files() and not other.is_dropped:
            self._journal.add("world", "restored" if other.is_up else "copied", machine=machine.name)
            machine.disk.replace_files(_backup_of(other.disk) if other.is_up else other.disk.copy_files())
            self._given_up.append(machine.sent)
            machine.acked, machine.sent = other.acked, other.sent
            machine.is_dropped = False
        elif kind == "rebuild" and self._chance.random() < 0.3:
            await self._rebuild(machine)

    async def _rebuild(self, machine: Machine) -> None:
        """Rebuild the store on this machine from tier 2 alone. The other copy is given up."""
        files = machine.disk.copy_files()
        machine.disk.replace_files({})
        try:
            await rebuild(machine.disk, machine.objects)
            content = await read_whole(machine.open(), SEGMENT)
        except (OSError, StorageError, CorruptStoreError):
            machine.disk.replace_files(files)
            return
        self._journal.add("world", "rebuild", rebuilt=True)
        self._given_up.append(machine.sent)
        written = (*self._given_up, self._other(machine).sent)
        if not any(one.startswith(content) for one in written):
            self.problems.append(f"{KEPT}: rebuilt from tier 2 is {content!r:.200}, which nobody has written")
        machine.acked = machine.sent = content
        machine.is_dropped = False
        self._other(machine).is_dropped = True

    def _write(self, machine: Machine) -> None:
        self._writes += 1
        machine.write(f"<{machine.name} {self._writes}>".encode() * self._chance.choice((1, 5, 60)))

    def _other(self, machine: Machine) -> Machine:
        return self._machines[machine is self._machines[0]]

    # -- the end -------------------------------------------------------------------------------------------

    async def _judge(self) -> None:
        """Without faults, start the stores one by one. Each has what was acknowledged, or is refused with
        everything that it has moved.
        """
        for machine in self._machines:
            machine.disk.conditions.heal()
            machine.objects.conditions.heal()
            machine.kill()
        await asyncio.sleep(5.0)  # uploads that are late
        for machine in self._chance.sample(self._machines, 2):
            if not machine.disk.files() or machine.is_dropped:
                continue
            machine.start()
            assert machine.runner is not None
            found = owner_in(self._objects.objects.get(OWNER))
            was_last = found is not None and found[1] in machine.runner.storage.history.lives[:-1]
            refusal = await self._refusal(machine)
            self._journal.add("world", "judged", machine=machine.name, refusal=refusal)
            if refusal is None:
                await self._check_content(machine)
            elif was_last and not refusal.startswith(NEWER):
                self.problems.append(f"{LAST_CONTINUES}: {machine.name} was refused: {refusal}")
            self._check_chunks(machine)
            machine.kill()

    async def _refusal(self, machine: Machine) -> str | None:
        """Wait until the store has moved everything. Return why it was refused, None if it was not."""
        assert machine.runner is not None
        assert machine.runner.tier is not None
        assert machine.running is not None
        tier = machine.runner.tier
        self._write(machine)
        for _ in range(int(PATIENCE_S)):
            await asyncio.sleep(1.0)
            if machine.running.done():
                error = machine.running.exception()
                if isinstance(error, TierMismatch):
                    return str(error)
                self.problems.append(f"the store of {machine.name} ended: {error!r}")
                return "it ended"
            if tier.mover.is_attached and not tier.tiered.log_bytes:
                return None
        self.problems.append(
            f"{LAST_CONTINUES}: {machine.name} neither moved nor stopped in {PATIENCE_S:g} s"
        )
        return "it waits"

    async def _check_content(self, machine: Machine) -> None:
        assert machine.runner is not None
        try:
            content = await read_whole(machine.runner, SEGMENT)
        except CorruptStoreError as error:
            self.problems.append(f"{KEPT}: {machine.name} cannot be read: {error}")
            return
        if content != machine.acked:
            self.problems.append(f"{KEPT}: {machine.name} has {content!r:.200}, not {machine.acked!r:.200}")

    def _check_chunks(self, machine: Machine) -> None:
        assert machine.runner is not None
        chunks = Tiered(machine.runner.storage).chunks()
        missing = [chunk.name for chunk in chunks if chunk.name not in self._objects.objects]
        if missing:
            self.problems.append(
                f"{KEPT}: {machine.name} has moved {missing}, which are not in tier 2 any more"
            )


def _backup_of(disk: SimulatedDisk) -> dict[str, bytes]:
    """Return the files that a restored backup of the store on ``disk`` has."""
    history = read_history(disk).without_lives()
    return {**disk.copy_files(), HISTORY_NAME: encode_history(history)}
