"""A store and its clients in virtual time; the fixture `world` makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.engine.simulation.store.world import World

STREAM = "sim/story"


def tell(world: World, story: Callable[[AsyncClient], Any]) -> Any:
    """Await ``story`` with a client of the store, which has an empty stream. Return what it returns."""

    async def main() -> Any:
        await world.store.start()
        async with world.client("story") as client:
            await client.create_stream(STREAM)
            return await story(client)

    return world.loop.run_until_complete(main())
