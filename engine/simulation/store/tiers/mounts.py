"""Who unmounts the file system of tier 2, and mounts it again."""

from __future__ import annotations

import asyncio

from pravega_lab.client.client import AsyncClient

from ..apps import App, Surroundings
from ..store_process import StoreProcess


class Mounter(App):
    """Unmounts tier 2 for a while, after the store has found its marker there.

    A store that starts without its folder in tier 2 stops, so `StoreProcess.start` mounts it.
    """

    def __init__(self, world: Surroundings, name: str, store: StoreProcess, rounds: int) -> None:
        super().__init__(world, name)
        self.store, self.rounds = store, rounds

    async def live(self, client: AsyncClient) -> None:
        objects = self.store.objects
        assert objects is not None
        objects.mount()  # an earlier life may have been killed before it did
        while self.rounds:
            await self.pause(1_000)
            self.rounds -= 1
            if not self._is_attached() or not self.world.loop.faults.happens(self.name, "unmount", ""):
                continue
            self.log("unmount")
            objects.unmount()
            await asyncio.sleep(self.chance.choice((0.01, 0.1, 1.0)) * self.chance.random())
            objects.mount()
            self.log("mount")

    def _is_attached(self) -> bool:
        """Return whether the store runs and has found its marker. A dead one may be rebuilt from tier 2."""
        process, runner = self.store.process, self.store.runner
        if process is None or not process.alive or runner is None or runner.tier is None:
            return False
        return runner.tier.mover.is_attached
