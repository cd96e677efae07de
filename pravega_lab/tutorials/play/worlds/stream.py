"""A stream with a reader group: readers that die, segments that are split, and a store that is killed."""

from __future__ import annotations

import asyncio
from itertools import count

from pravega_lab.client.reader_group.event_reader import AsyncReader
from pravega_lab.client.reader_group.values import Position
from pravega_lab.errors import BadInputError, NotFoundError, PravegaError, TruncatedDataError
from pravega_lab.observe.ledger.observations import Acted
from pravega_lab.protocol.names import number_of
from pravega_lab.testing.simulated import SimulatedProgram
from pravega_lab.tutorials.play.catalogue import Scenario
from pravega_lab.tutorials.play.spec import Act, RunSpec
from pravega_lab.tutorials.play.worlds.played import EXACT, NOT_DONE, Played, numbered_views
from pravega_lab.tutorials.recording.incidents import KEYS
from pravega_lab.tutorials.recording.recorder import BEGIN_S, GROUP, READ_S, START_MS, STREAM, Recorder
from pravega_lab.tutorials.recording.recorder import number_of as event_number
from pravega_lab.widgets.ledger.view import LedgerView
from pravega_lab.widgets.live.view import View
from pravega_lab.widgets.reader_board.view import ReaderBoard
from pravega_lab.widgets.segment_map.view import SegmentMap

NAMES = ("dot", "eva", "fay", "ann", "bob", "cem", "gus", "ida")
EVERY_S, IDLE_S = 0.04, 0.001
PER_TRANSACTION = 8
ENDS_WITHIN_S, LIMIT_S = 60.0, 90.0
LAST_CHECKPOINT_WITHIN_S = 10.0
SLOW_US = (100, 40_000)
KILL_WITHIN_US = 100_000  # the seed decides where in a commit the store is killed


def play(scenario: Scenario, spec: RunSpec) -> Played:
    """Run a scenario of this world."""
    return _PlayedStream(_StreamWorld(scenario, spec))


class _StreamWorld(Recorder):
    """One run, which is over when it has been constructed."""

    def __init__(self, scenario: Scenario, spec: RunSpec) -> None:
        super().__init__(spec.seed, KEYS)
        self._scenario, self._spec = scenario, spec
        self._facts = scenario.facts
        self._positions: dict[str, Position] = {}
        self._checkpoints = count(1)
        self._acting: list[asyncio.Task[None]] = []
        self.problems: list[str] = []
        try:
            self.run(lambda _: self._within_limit(), segments=self._facts["segments"])
        except (PravegaError, AssertionError, TimeoutError) as error:
            self.problems.append(f"{type(error).__name__}: {error}".splitlines()[0])
            self.journal.live = False

    # -- the story -----------------------------------------------------------------------------------------

    async def _within_limit(self) -> None:
        try:
            async with asyncio.timeout(LIMIT_S):
                await self._happen()
        except TimeoutError:
            self.problems.append(f"The run is not over after {LIMIT_S:g} virtual seconds.")

    async def _happen(self) -> None:
        for name in NAMES[: self._facts["readers"]]:
            self.start_reader(name)
        if self._switch("disk") == "slow":
            conditions = self.pravega.disk
            conditions.write_us_min, conditions.write_us_max = SLOW_US
        await self.until(1.0)
        events, every_s = self._facts["events"], EVERY_S / (2 if self._switch("load") == "burst" else 1)
        if "transactions" in self._facts:
            self.programs["writer"] = self.pravega.start("writer", self._write_transactions(events))
        else:
            self.start_writer(events, every_s=every_s)
        for act in self._spec.acts if self._spec.acts is not None else self._scenario.acts:
            await self.until(act.at_s)
            self._acting.append(asyncio.create_task(self._try(act), name=str(act)))
            await asyncio.sleep(0)
        await self._come_to_an_end()

    async def _come_to_an_end(self) -> None:
        """Let the writer and the readers finish, and settle only if every reader has passed a checkpoint."""
        await self.programs["writer"].ends(ENDS_WITHIN_S)
        await self._falls_silent()
        pending = await self.group.initiate_checkpoint("the last")
        try:
            await pending.result(LAST_CHECKPOINT_WITHIN_S)
        except (TimeoutError, PravegaError):
            self.problems.append("The last checkpoint of the reader group does not complete.")
        await self._falls_silent()
        for task in self._acting:
            task.cancel()

    def _settle(self) -> None:
        if not self.problems:  # otherwise the rest is not lost: it waits for a reader
            super()._settle()

    def _switch(self, name: str) -> str:
        known = [switch.name for switch in self._scenario.switches]
        return self._scenario.chosen(self._spec, name) if name in known else ""

    async def _try(self, act: Act) -> None:
        try:
            await self._do(*act.text.split())
        except (PravegaError, TimeoutError) as error:
            self._note(f"{NOT_DONE}{act.text}: {error}".splitlines()[0])

    async def _do(self, verb: str, *words: str) -> None:
        match verb, words:
            case "kill", (name,):
                program = self._program(name)
                self.ledger.fault(f"{name} is killed; nothing reports it", f"kill {name}")
                program.kill()
            case "offline", (name,):
                with_position = self._switch("declared") == "with-position"
                position = self._positions.get(name) if with_position else None
                self._note(f"{name} is declared offline{'' if position is None else ' at its position'}")
                await self.group.reader_offline(name, position)
            case "start", (name,):
                self._note(f"{name} starts")
                self.start_reader(name)
            case "slow", (name, ms):
                self._program(name)
                self._note(f"{name} takes {_ms(ms)} ms for each event")
                self.every_s[name] = _ms(ms) / 1000
            case "cut", (name,):
                self._cut(name)
            case "delay", (ms,):
                self.ledger.fault(f"every message takes up to {_ms(ms)} ms", f"delay {ms}")
                self.pravega.network.delay_us_max = 1000 * _ms(ms)
            case "checkpoint", ():
                pending = await self.group.initiate_checkpoint(f"checkpoint {next(self._checkpoints)}")
                await pending.result(ENDS_WITHIN_S)
            case "split", (number,):
                await self.stream.split((await self._segments_named(number))[0])
            case "merge", (_, _):
                await self.stream.merge(await self._segments_named(*words))
            case "kill-store", ():
                await asyncio.sleep(self.pravega.chance.randint(0, KILL_WITHIN_US) / 1e6)
                self.ledger.fault("the store is killed (kill -9), and starts again", "kill-store")
                await self.pravega.restart_store()
            case "fork", (number,):
                self._note(f"other chances from here: {number}")
                asyncio.get_running_loop().reseed(f"{self._spec.seed}/fork/{number}")  # type: ignore[attr-defined]
            case _:
                said = " ".join((verb, *words))
                raise BadInputError(f"{said!r} is no act of this scenario, or has words too many or too few")

    def _note(self, text: str) -> None:
        self.journal.append(Acted(time_ms=self._now_ms(), text=text, target=GROUP))

    def _program(self, name: str) -> SimulatedProgram:
        if name not in self.programs:
            raise NotFoundError(f"there is no program {name!r}; there are {', '.join(self.programs)}")
        return self.programs[name]

    def _cut(self, name: str) -> None:
        """Cut the connections of a program: what is on the wire is lost, and the client connects again."""
        process = self._program(name)._process
        self.ledger.fault(f"the connections of {name} are cut, and what was on them is lost", f"cut {name}")
        network = self.pravega._loop.network
        for transport in network.connections():
            if transport.process is process:
                transport.cut()

    async def _segments_named(self, *numbers: str) -> list[int]:
        active = {str(number_of(s.segment_id)): s.segment_id for s in await self.stream.segments()}
        missing = [number for number in numbers if number not in active]
        if missing:
            raise NotFoundError(f"segment {missing[0]} is not active; active are {', '.join(active)}")
        return [active[number] for number in numbers]

    # -- programs ------------------------------------------------------------------------------------------

    async def _read(self, name: str) -> None:
        async with self.pravega.client(name) as client, self.group_of(client) as group:
            reader = await group.create_reader(name)
            await self.until(BEGIN_S)
            while True:
                try:
                    await self._read_one(name, reader)
                except TruncatedDataError:
                    continue
                except PravegaError as error:
                    self._note(f"{name} stops: {error}".splitlines()[0])
                    return

    async def _read_one(self, name: str, reader: AsyncReader) -> None:
        found = await reader.read_next(READ_S)
        if found.event is None:
            await asyncio.sleep(IDLE_S)  # a planted bug may answer at once, for ever
            return
        segments, offsets = [found.segment_id], [found.offset]
        self.ledger.read([event_number(found.event)], where=name, segments=segments, offsets=offsets)
        self._n_read += 1
        self._positions[name] = reader.position()
        await asyncio.sleep(self.every_s[name])

    async def _write_transactions(self, n: int) -> None:
        """Write so many events in each transaction, and begin the next one when the commit is decided."""
        chance = self.pravega.chance
        async with self.pravega.client("writer") as client:
            stream = client.stream(STREAM)
            for first in range(0, n, PER_TRANSACTION):
                numbers = range(first, min(n, first + PER_TRANSACTION))
                keys, events = self.hand_over(numbers)
                transaction = await stream.begin_transaction(30_000)
                for key, event in zip(keys, events, strict=True):
                    await transaction.write([event], [key])
                    await asyncio.sleep(chance.randint(1_000, 25_000) / 1e6)
                await transaction.commit()
                self.ledger.acknowledged(list(numbers))
                await asyncio.sleep(chance.randint(1_000, 150_000) / 1e6)


def _ms(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 60_000:
        raise BadInputError(f"{text!r}: a number of ms, 1 to 60000")
    return int(text)


class _PlayedStream(Played):
    """The result of a run of `_StreamWorld`."""

    def __init__(self, world: _StreamWorld) -> None:
        found = world.ledger.verdict()
        super().__init__(
            journals=[world.journal],
            verdict=found.sentence,
            first="" if found.sentence == EXACT else found.first,
            problems=world.problems,
            zero_ms=START_MS,
            targets={
                "readers": [name for name in world.programs if name != "writer"],
                "new readers": [name for name in NAMES if name not in world.programs],
                "programs": list(world.programs),
                "segments": [str(n) for n in range(8)],
                "chances": [str(n) for n in range(1, 10)],
            },
            steps=world.pravega._loop.steps,
            virtual_s=world.pravega.now_s,
        )

    def views(self) -> list[View]:
        """Return segment map, reader board and ledger."""
        [journal] = self.journals
        return numbered_views(
            [SegmentMap(journal, stream=STREAM), ReaderBoard(journal, group=GROUP), LedgerView(journal)]
        )
