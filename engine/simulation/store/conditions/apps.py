"""Rivals: they change a table, a key-value table, a log and its mark, each time under a condition.

All rivals write the same values, so nothing in the store shows who made a change.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream, Revision
from pravega_lab.client.tables.key_value_table import AsyncKeyValueTable
from pravega_lab.client.tables.table import AsyncTable
from pravega_lab.client.values import NOT_EXISTS
from pravega_lab.errors import AlreadyExistsError, ConditionFailedError, Definite

from ..apps import TABLE, App, Surroundings

CLAIMS, LOG = "sim/claims", "sim/log"
PRIMARY, SECONDARY, KEY = b"gate", b"A1", b"claim"
SAME = b"taken"

Change = Callable[[], Awaitable[bool]]


class Rival(App):
    """Reads a state, and changes it as every rival would, if no other was faster."""

    def __init__(self, world: Surroundings, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds
        self.count = 0

    async def live(self, client: AsyncClient) -> None:
        with contextlib.suppress(AlreadyExistsError):
            await client.create_key_value_table(CLAIMS, 4, 2)
        with contextlib.suppress(AlreadyExistsError):
            await client.create_stream(LOG)
        log = client.revisioned_stream(LOG)
        try:
            while self.rounds:
                self.rounds -= 1
                await self._act(client, log)
                await self.pause(20)
        finally:
            await log.close()

    async def _act(self, client: AsyncClient, log: AsyncRevisionedStream) -> None:
        kind = self.chance.choice(("entry", "entry", "key", "key", "log", "mark"))
        if kind == "entry":
            await self._change_entry(client.key_value_table(CLAIMS))
        elif kind == "key":
            await self._change_key(client.table(TABLE))
        elif kind == "log":
            await self._append(log)
        else:
            await self._move_mark(log)

    async def _change_entry(self, table: AsyncKeyValueTable) -> None:
        found = await table.get(PRIMARY, SECONDARY)
        if found is None:
            with contextlib.suppress(ConditionFailedError):
                await table.put(PRIMARY, SAME, SECONDARY, NOT_EXISTS)
            return
        version = found.version
        if self.chance.random() < 0.5:
            await self._claim("entry", version.offset, _done(table.remove, PRIMARY, SECONDARY, version))
        else:
            await self._claim("entry", version.offset, _done(table.put, PRIMARY, SAME, SECONDARY, version))

    async def _change_key(self, table: AsyncTable) -> None:
        found = await table.get(KEY)
        if found is None:
            with contextlib.suppress(ConditionFailedError):
                await table.put(KEY, SAME, NOT_EXISTS)
            return
        if self.chance.random() < 0.5:
            await self._claim("key", found.version, _done(table.remove, KEY, found.version))
        else:
            await self._claim("key", found.version, _done(table.put, KEY, SAME, found.version))

    async def _append(self, log: AsyncRevisionedStream) -> None:
        end = await log.latest()

        async def change() -> bool:
            return await log.append_if_at(end, SAME) is not None

        await self._claim("log", end.offset, change)

    async def _move_mark(self, log: AsyncRevisionedStream) -> None:
        mark = await log.mark()
        at = mark.offset if mark is not None else 0
        after = Revision((await log.oldest()).segment, at + 1)

        async def change() -> bool:
            return await log.set_mark(after, mark)

        await self._claim("mark", at, change)

    async def _claim(self, place: str, condition: int, change: Change) -> None:
        """Make a change under a condition that can be met once, and note what the client said."""
        self.count += 1
        n = self.count
        await self.pause(40)
        self.log("claim", n=n, place=place, condition=condition)
        try:
            self.log("claimed" if await change() else "claim-refused", n=n)
        except ConditionFailedError as error:
            self.log("claim-refused" if error.definite is Definite.NO else "claim-unknown", n=n)


def _done(change: Callable[..., Awaitable[object]], *args: object) -> Change:
    """Return a change that is made when nothing is raised."""

    async def made() -> bool:
        await change(*args)
        return True

    return made
