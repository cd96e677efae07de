"""`StoreHere`: the embedded store of a `Lab` in a browser: in the page's memory, on its event loop.

It is the store that serves sockets at home, without the sockets. Nothing outside the page can reach it, so it
has no password.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from itertools import count
from pathlib import Path

from pravega_lab.client.connection import in_process
from pravega_lab.client.controller.link import ControllerCallError
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.engine.server.connection import SegmentStoreProtocol
from pravega_lab.engine.server.limits.limits import Limits
from pravega_lab.engine.server.runner import StoreRunner
from pravega_lab.engine.simulation.store.store_process import answer
from pravega_lab.engine.store.log.disk import MemoryDisk
from pravega_lab.engine.store.metadata.replies import RpcError
from pravega_lab.errors import BadInputError
from pravega_lab.portable.waiting import gather

HOST = "page"  # no host of a network: an address that only this process knows
FILE_BYTES = 1 << 20
_ports = count(9090)


class StoreHere:
    """A store in this process, with the interface of `StoreProcess` that a lab uses.

    Raises:
        BadInputError: ``data`` or a registry is asked for: a page keeps no files, and serves no HTTP.
    """

    is_kept = False
    registry_uri = ""

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        scaling_clock: int = 1,
        limits: Limits | None = None,
        registry_port: int | None = None,
    ) -> None:
        if data is not None or registry_port is not None:
            raise BadInputError(
                "a store in a browser is in the page's memory: it has no folder and no schema registry. "
                "Write Lab(), or run the notebook at home or on Binder"
            )
        self._port = next(_ports)
        self._options = {"scaling_clock": scaling_clock, "limits": limits}
        self._running: asyncio.Task[None] | None = None
        self.uri = f"tcp://{HOST}:{self._port}"
        loop_thread().run(self._start())

    async def _start(self) -> None:
        loop, disk = asyncio.get_running_loop(), MemoryDisk(is_reopened=False)
        self._runner = StoreRunner(
            *(disk, loop, lambda: time.time_ns() // 1_000_000, uuid.uuid4),
            file_bytes=FILE_BYTES,
            **self._options,  # type: ignore[arg-type]
        )
        await self._runner.begin()
        self._running = loop.create_task(self._runner.run())
        self._runner.serve_controller(HOST, self._port)
        in_process.add(HOST, self._port, self)

    async def call(self, method: str, request: bytes) -> bytes:
        """Answer a call of the controller. Raises `ControllerCallError`."""
        try:
            return await answer(self._runner, method, request)
        except RpcError as error:
            raise ControllerCallError(error.code_name, error.details) from error

    def new_protocol(self) -> SegmentStoreProtocol:
        """Return the protocol of a new connection."""
        return SegmentStoreProtocol(self._runner.segment_store)

    @property
    def alive(self) -> bool:
        """Return whether the store runs."""
        return self._running is not None and not self._running.done()

    def close(self) -> None:
        """Stop the store; its data is gone."""
        in_process.remove(HOST, self._port)
        loop_thread().run(self._stop())

    async def _stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            self._runner.segment_store.abort()
            await gather(self._running, return_exceptions=True)
