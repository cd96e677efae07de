"""TLS in front of a server that has none: what a client sees of certificates, without Java."""

from __future__ import annotations

import asyncio
import ssl
import threading
from pathlib import Path


class TlsProxy:
    """Speaks TLS on a free port of 127.0.0.1 and passes the bytes on to a plain one; on its own thread."""

    def __init__(self, folder: Path, target_port: int) -> None:
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(folder / "server.crt", folder / "server.key")
        self._tls.set_alpn_protocols(["h2"])
        self._target_port = target_port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = 0
        self.connections = 0

    async def _listen(self) -> int:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        theirs, ours = await asyncio.open_connection("127.0.0.1", self._target_port)
        await asyncio.gather(_pump(reader, ours), _pump(theirs, writer), return_exceptions=True)

    def __enter__(self) -> TlsProxy:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
