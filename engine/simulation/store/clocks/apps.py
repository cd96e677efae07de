"""Who sets the clock of the store's machine, and who holds leases while that happens."""

from __future__ import annotations

import asyncio
from typing import Protocol

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.values import TransactionState
from pravega_lab.errors import NotFoundError

from ..apps import STREAM, App, Surroundings

HOUR_MS = 3_600_000
JUMPS_MS = (-365 * 24 * HOUR_MS, -HOUR_MS, -20_000, 20_000, HOUR_MS, 365 * 24 * HOUR_MS)
SHORT_MS, LONG_MS = 10_000, 600_000


class Clock(Protocol):
    """Is the clock of the store's machine."""

    def set_clock(self, jump_ms: int) -> None:
        """Let the wall clock jump."""


class ClockSetter(App):
    """Sets the wall clock forward and back."""

    def __init__(self, world: Surroundings, name: str, clock: Clock, jumps: int) -> None:
        super().__init__(world, name)
        self.clock, self.jumps = clock, jumps

    async def live(self, client: AsyncClient) -> None:
        while self.jumps:
            await self.pause(8_000)
            self.jumps -= 1
            jump_ms = self.chance.choice(JUMPS_MS)
            if not self.world.loop.faults.happens(self.name, "clock jump", f"{jump_ms} ms"):
                continue
            self.log("clock-jump", ms=jump_ms)
            self.clock.set_clock(jump_ms)


class Tenant(App):
    """Opens transactions that it does not renew, and asks for their states until they have ended."""

    def __init__(self, world: Surroundings, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds

    async def live(self, client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        while self.rounds:
            self.rounds -= 1
            lease_ms = self.chance.choice((SHORT_MS, SHORT_MS, LONG_MS))
            txn = await stream.begin_transaction(lease_ms)
            await txn.close()
            name = str(txn.txn_id)
            self.log("leased", txn=name, lease_ms=lease_ms)
            for _ in range(25):
                self.log("lease-asked", txn=name)
                try:
                    state = await stream.transaction(txn.txn_id).state()
                except NotFoundError:
                    state = TransactionState.ABORTED
                self.log("lease-seen", txn=name, state=state.name)
                if state is not TransactionState.OPEN:
                    break
                await asyncio.sleep(1.0)
