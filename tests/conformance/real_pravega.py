"""A real Pravega 0.13.0, started here as the judge of the embedded store.

The jars lie in ``.cache/pravega/lib`` of the checkout; where they are missing Maven fetches them once with
the ``pom.xml`` beside this file (157 jars, 107 MB). Every start is an empty store: the released standalone
keeps nothing on disk. Also the command ``python -m tests.conformance.real_pravega`` for work by hand.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".cache" / "pravega" / "lib"
POM = Path(__file__).with_name("pom.xml")
READY_LINE = "Pravega Sandbox is running locally now"
START_TIMEOUT_S = 90
FETCH_TIMEOUT_S = 600

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
    if RealPravega.has_jars():
        return JARS
    maven = shutil.which("mvn")
    if maven is None:
        raise NoRealPravegaError(f"no jars in {JARS} and no Maven (mvn) on the PATH to fetch them")
    JARS.mkdir(parents=True, exist_ok=True)
    command = [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={JARS}"]
    command.append("-DincludeScope=runtime")
    done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S)
    if done.returncode:
        raise NoRealPravegaError(f"Maven could not fetch the jars: {(done.stdout + done.stderr)[-500:]}")
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
        *(java, "-server", "-Xms256m", f"-Xmx{heap}", "-XX:MaxDirectMemorySize=1g"),
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
    server = RealPravega()
    print(server.start(), f"segment store on {server.store_port}", flush=True)
    try:
        while True:
            time.sleep(3600)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
