"""The users of a key-value table: transfers between accounts, notes that come and go, and listings."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.tables.key_value_table import AsyncKeyValueTable
from pravega_lab.client.tables.values import KeyVersion, Put
from pravega_lab.client.values import NOT_EXISTS
from pravega_lab.errors import AlreadyExistsError, ConditionFailedError, Definite

from ..apps import App, Surroundings

KEY_VALUES = "sim/ledger"
ACCOUNTS, NOTES = b"acct", b"note"
N_ACCOUNTS, BALANCE = 4, 100
N_NOTES = 20
PAGE = 3
"""Entries of a page, so that a listing has several."""


class TableApp(App):
    """Is an application that uses the table."""

    def __init__(self, world: Surroundings, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds
        self.count = 0

    async def live(self, client: AsyncClient) -> None:
        table = client.key_value_table(KEY_VALUES)
        with contextlib.suppress(AlreadyExistsError):
            await client.create_key_value_table(KEY_VALUES, 4, 2, partitions=2)
        await self.begin(table)
        while self.rounds:
            self.rounds -= 1
            self.count += 1
            await self.act(table)
            await self.pause(100)

    async def begin(self, table: AsyncKeyValueTable) -> None:
        """Prepare the table."""

    async def act(self, table: AsyncKeyValueTable) -> None:
        """Do one thing."""
        raise NotImplementedError


class Cashier(TableApp):
    """Moves money between two accounts, on the condition that both are as they were read."""

    async def begin(self, table: AsyncKeyValueTable) -> None:
        opening = [Put(account(n), str(BALANCE).encode(), NOT_EXISTS) for n in range(N_ACCOUNTS)]
        with contextlib.suppress(ConditionFailedError):
            await table.update(ACCOUNTS, opening)

    async def act(self, table: AsyncKeyValueTable) -> None:
        source, target = self.chance.sample([account(n) for n in range(N_ACCOUNTS)], 2)
        found = await table.get_many([(ACCOUNTS, source), (ACCOUNTS, target)])
        if found[0] is None or found[1] is None:
            return
        amount = self.chance.randint(1, 9)
        versions: list[KeyVersion] = [entry.version for entry in found if entry is not None]
        values = [balance(found[0].value) - amount, balance(found[1].value) + amount]
        expected = {source.decode(): versions[0].to_text(), target.decode(): versions[1].to_text()}
        await self.pause(30)
        changes = [
            Put(key, f"{value} {self.who}-{self.count}".encode(), version)
            for key, value, version in zip((source, target), values, versions, strict=True)
        ]
        self.log("kv-transfer", n=self.count, expected=expected)
        try:
            await table.update(ACCOUNTS, changes)
            self.log("kv-transferred", n=self.count)
        except ConditionFailedError as error:
            self.log("kv-refused", n=self.count, definite=error.definite is Definite.NO)


class Auditor(TableApp):
    """Reads all accounts with one request, and lists the notes page by page."""

    async def act(self, table: AsyncKeyValueTable) -> None:
        found = await table.get_many([(ACCOUNTS, account(n)) for n in range(N_ACCOUNTS)])
        self.log("kv-balances", values=[None if entry is None else balance(entry.value) for entry in found])
        self.log("kv-list", n=self.count)
        listing = table.entries(NOTES)
        listing._fetch = _in_small_pages(listing._fetch)
        keys = [entry.secondary.decode() async for entry in listing]
        self.log("kv-listed", n=self.count, keys=keys)


class Scribe(TableApp):
    """Puts and removes notes that no other application touches."""

    def __init__(self, world: Surroundings, name: str, rounds: int, keys: list[str]) -> None:
        super().__init__(world, name, rounds)
        self.keys = keys
        self.versions: dict[str, KeyVersion] = {}

    async def act(self, table: AsyncKeyValueTable) -> None:
        key = self.chance.choice(self.keys)
        self.count += 1
        if self.chance.random() < 0.7:
            self.log("kv-put", n=self.count, key=key)
            self.versions[key] = await table.put(NOTES, self.who.encode(), key.encode())
            self.log("kv-done", n=self.count)
        elif key in self.versions and self.chance.random() < 0.5:
            await self.remove_old(table, key)
        else:
            self.log("kv-remove", n=self.count, key=key)
            await table.remove(NOTES, key.encode())
            self.log("kv-done", n=self.count)

    async def remove_old(self, table: AsyncKeyValueTable, key: str) -> None:
        """Replace a note, and remove it on the condition that it is still the one before."""
        old = self.versions.pop(key)
        self.log("kv-put", n=self.count, key=key)
        await table.put(NOTES, self.who.encode(), key.encode())
        self.log("kv-done", n=self.count)
        with contextlib.suppress(ConditionFailedError):  # as it should be: the note stays
            await table.remove(NOTES, key.encode(), old)


def account(n: int) -> bytes:
    """Return the secondary key of an account."""
    return f"{n:02}".encode()


def balance(value: bytes) -> int:
    """Return the balance in the value of an account. The rest of a value names the transfer that wrote it.

    Without the transfer, two changes to one balance would look the same if the answer to one is lost.
    """
    return int(value.split()[0])


def notes_of(user: int, users: int) -> list[str]:
    """Return the secondary keys that belong to one of several users."""
    return [f"{n:02}" for n in range(N_NOTES) if n % users == user]


def _in_small_pages(fetch: Callable[..., Awaitable[list[Any]]]) -> Callable[..., Awaitable[list[Any]]]:
    async def page(segment_id: int, low: bytes, high: bytes) -> list[Any]:
        return (await fetch(segment_id, low, high))[:PAGE]

    return page
