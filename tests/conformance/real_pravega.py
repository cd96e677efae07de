"""A real Pravega 0.13.0, started here as the judge of the embedded store.

The jars lie in ``.cache/pravega/lib`` of the checkout; where they are missing Maven fetches them once with
the ``pom.xml`` beside this file (157 jars, 107 MB). Every start is an empty store: the released standalone
keeps nothing on disk. Also the command ``python -m tests.conformance.real_pravega`` for work by hand.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from tests.conformance.maven import FetchError, fetch
from tests.spark.jvm import QUICK_START

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".cache" / "pravega" / "lib"
POM = Path(__file__).with_name("pom.xml")
READY_LINE = "Pravega Sandbox is running locally now"
START_TIMEOUT_S = 90
KEEP_POLL_S = 0.5
PROCESSORS = 8
"""More than tests run at a time. Its controller handles events with as many threads, and each deletion of a
scope with its streams blocks one. Once all are blocked, it never seals, scales or commits anything again."""

LOGBACK = """<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %-5level %logger{20} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT"/></root>
  <logger name="io.pravega.local" level="INFO"/>
</configuration>
"""


class NoRealPravegaError(Exception):
    """There is no Java, no Maven, or no jar: the message says which, and what to do."""


def jars() -> Path:
    """The folder of the released server's jars, fetched by Maven if need be."""
    if not RealPravega.has_jars():
        try:
            fetch(POM, JARS, RealPravega.has_jars)
        except FetchError as error:
            raise NoRealPravegaError(str(error)) from error
    return JARS


def free_ports(count: int) -> list[int]:
    """Ports that are free now; held all at once, so that they differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def java_command(
    lib: Path, work: Path, controller_port: int, store_port: int, heap: str, more: Mapping[str, object]
) -> list[str]:
    java = shutil.which("java")
    if java is None:
        raise NoRealPravegaError("no Java on the PATH (17 or later runs the released server)")
    (work / "empty.properties").touch()
    (work / "logback.xml").write_text(LOGBACK)
    [zookeeper_port] = free_ports(1)
    settings = {
        "io.netty.tryReflectionSetAccessible": "true",
        "singlenode.configurationFile": str(work / "empty.properties"),
        # Without "file:" the class path is searched first and a verbose default wins.
        "logback.configurationFile": f"file:{work / 'logback.xml'}",
        "singlenode.zk.port": zookeeper_port,
        "singlenode.segmentStore.port": store_port,
        "singlenode.controller.rpc.port": controller_port,
        "singlenode.controller.rest.enable": "false",
        "singlenode.admin.gateway.enable": "false",
        "pravegaservice.service.listener.host.nameOrIp": "127.0.0.1",
        "pravegaservice.service.published.host.nameOrIp": "127.0.0.1",
        "pravegaservice.request.replyWithStackTraceOnError.enable": "false",
        "java.io.tmpdir": str(work),
        **more,
    }
    opened = ("java.lang", "java.nio", "sun.nio.ch", "java.util")
    return [
        *(java, *QUICK_START.split(), "-Xms256m", f"-Xmx{heap}", "-XX:MaxDirectMemorySize=1g"),
        f"-XX:ActiveProcessorCount={PROCESSORS}",
        *(word for p in opened for word in ("--add-opens", f"java.base/{p}=ALL-UNNAMED")),
        *(f"-D{key}={value}" for key, value in settings.items()),
        *("-cp", f"{lib}/*", "io.pravega.local.LocalPravegaEmulator"),
    ]


class RealPravega:
    """The running server. ``with RealPravega() as uri:`` or ``start``/``stop``."""

    def __init__(self, heap: str = "1g", settings: Mapping[str, object] | None = None) -> None:
        self.controller_port, self.store_port = free_ports(2)
        self.uri = f"tcp://127.0.0.1:{self.controller_port}"
        self._heap = heap
        self._settings = settings or {}
        self._lines: list[str] = []
        self._ready = threading.Event()

    @staticmethod
    def has_jars() -> bool:
        return any(JARS.glob("pravega-standalone-0.13.0.jar"))

    def start(self) -> str:
        lib = jars()
        self._work = Path(tempfile.mkdtemp(prefix="real-pravega-"))
        ports = self.controller_port, self.store_port
        command = java_command(lib, self._work, *ports, self._heap, self._settings)
        self._process = subprocess.Popen(
            command, cwd=self._work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        threading.Thread(target=self._follow, daemon=True).start()
        if not self._ready.wait(START_TIMEOUT_S) or self._process.poll() is not None:
            self.stop()
            raise NoRealPravegaError("the real Pravega did not start:\n" + "".join(self._lines[-20:]))
        self._wait_until_it_listens()
        return self.uri

    def _wait_until_it_listens(self) -> None:
        """On a busy machine it says that it runs some seconds before its controller does."""
        end = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.controller_port), 1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return

    def _follow(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines = [*self._lines[-200:], line]
            if READY_LINE in line:
                self._ready.set()
        self._ready.set()  # it ended: do not let `start` wait for the whole timeout

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._work, ignore_errors=True)

    def __enter__(self) -> str:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def main() -> None:
    """Run a server for work by hand, or with ``--for PID FILE`` as long as the process ``PID`` lives."""
    if sys.argv[1:2] == ["--for"]:
        keep_for(int(sys.argv[2]), Path(sys.argv[3]))
        return
    server = RealPravega()
    print(server.start(), f"segment store on {server.store_port}", flush=True)
    try:
        while True:
            time.sleep(3600)
    finally:
        server.stop()


def keep_for(pid: int, answer: Path) -> None:
    """Run a server as long as process ``pid`` lives; write its URI, or why there is none, to ``answer``."""
    server = RealPravega()
    try:
        found = {"uri": server.start()}
        _warm_up(server.uri)
    except NoRealPravegaError as error:
        found = {"error": str(error)}
    part = answer.with_suffix(".part")
    part.write_text(json.dumps(found))
    part.rename(answer)
    if "error" in found:
        return
    while _is_running(pid):
        time.sleep(KEEP_POLL_S)
    server.stop()


def _warm_up(uri: str) -> None:
    """Make the first scope, stream and table alone: several clients at once meet internal errors there."""
    from pravega_lab.client import connect

    with connect(uri) as client:
        client.create_stream("warm/up").write(["event"])
        table = client.table("warm/table")
        table.create()
        table.put(b"key", b"value")


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main()
