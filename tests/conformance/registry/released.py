"""A released schema registry 0.6.0 and its Java client, started here as the judges of ours.

The jars are in ``.cache/schema-registry/lib`` of the checkout; where they are missing Maven fetches them once
with the ``pom.xml`` in this folder (125 jars, 60 MB). The server keeps its data in memory.
"""

from __future__ import annotations

import functools
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

import pytest

from tests.conformance.compiled import compiled
from tests.conformance.java.programs import LOGBACK
from tests.conformance.maven import FetchError, fetch
from tests.conformance.real_pravega import free_ports

ROOT = Path(__file__).resolve().parents[3]
JARS = ROOT / ".cache" / "schema-registry" / "lib"
FOLDER = Path(__file__).parent
START_S_MAX = 60.0
FLAGS = ("-XX:TieredStopAtLevel=1", "--add-opens", "java.base/java.nio=ALL-UNNAMED")


def jars() -> str:
    """The class path of the released jars. Skips the test, in words, where there are none and no Java."""
    try:
        for tool in ("java", "javac"):
            if shutil.which(tool) is None:
                raise FetchError(f"no {tool} on the PATH (17 or later runs the released server)")
        if not _has_jars():
            fetch(FOLDER / "pom.xml", JARS, _has_jars)
    except FetchError as error:
        why = f"NOT COMPARED WITH A RELEASED SCHEMA REGISTRY: {error}"
        print(why, file=sys.stderr)
        pytest.skip(why)
    return f"{JARS}/*"


def _has_jars() -> bool:
    return any(JARS.glob("schemaregistry-server-0.6.0.jar"))


class ReleasedRegistry:
    """The running server. ``with ReleasedRegistry() as uri:``."""

    def __enter__(self) -> str:
        library = jars()
        [port] = free_ports(1)
        self._work = Path(tempfile.mkdtemp(prefix="schema-registry-"))
        (self._work / "logback.xml").write_text(LOGBACK)
        settings = {
            "schemaRegistry.store.type.name": "InMemory",
            "schemaRegistry.service.rest.listener.port": port,
            "schemaRegistry.service.rest.published.host.nameOrIp": "127.0.0.1",
            "logback.configurationFile": f"file:{self._work}/logback.xml",
        }
        options = [f"-D{name}={value}" for name, value in settings.items()]
        command = ["java", "-Xmx256m", *FLAGS, *options, "-cp", library]
        with (self._work / "log").open("w") as log:
            self._process = subprocess.Popen(
                [*command, "io.pravega.schemaregistry.service.Main"],
                cwd=self._work,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_S_MAX
        while not _listens(port):
            assert self._process.poll() is None, (self._work / "log").read_text()[-4000:]
            assert time.monotonic() < deadline, "the released registry did not start"
            time.sleep(0.05)
        return f"http://127.0.0.1:{port}"

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # it keeps nothing
        self._process.wait()
        shutil.rmtree(self._work, ignore_errors=True)


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


class JavaPeer:
    """The released client and serializers: `java/RegistryPeer.java`, told lines, answering lines."""

    def __init__(self, uri: str, namespace: str, *credentials: str) -> None:
        classes = _classes()
        flags = [*FLAGS, f"-Dlogback.configurationFile=file:{classes}/logback.xml"]
        command = ["java", "-Xmx256m", *flags, "-cp", f"{classes}:{jars()}", "RegistryPeer"]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the object
        self._process = subprocess.Popen(
            [*command, uri, namespace, *credentials],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def ask(self, *words: str) -> str:
        """What the program answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            self._errors.seek(0)
            raise AssertionError(f"the program ended: {self._errors.read().decode()[-4000:]}")
        return answer.rstrip("\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()


@functools.cache
def _classes() -> Path:
    jars()
    return compiled((FOLDER / "java").glob("*.java"), JARS, LOGBACK)
