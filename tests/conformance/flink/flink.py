"""A real Flink 2.2.1: a mini cluster in one JVM, running `java/Jobs.java`, as a `world.Lab`.

The jars lie in ``.cache/flink/lib`` of the checkout; where they are missing Maven fetches them once with the
``pom.xml`` beside this file (38 jars, 63 MB). Our programs are compiled beside them.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
import shutil
from pathlib import Path
from typing import Self

from tests.conformance.compiled import compiled
from tests.conformance.flink.world import WAIT_S, Lab, RefusedError
from tests.conformance.maven import FetchError, fetch

VERSION = "2.2.1"
HERE = Path(__file__).parent
CACHE = Path(__file__).resolve().parents[3] / ".cache" / "flink"
JARS = CACHE / "lib"
SOURCES = sorted((HERE / "java").glob("*.java"))
FLAGS = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
OPENED = ["java.lang", "java.util", "java.net", "java.time"]


class NoFlinkError(Exception):
    """There is no Java, no Maven, or no jar: the message says which."""


def may_have_flink() -> bool:
    """Is there a compiler, and the jars or Maven to fetch them?"""
    return shutil.which("javac") is not None and (_has_jars() or shutil.which("mvn") is not None)


@functools.cache
def classpath() -> str:
    """Of our compiled programs and Flink, fetched and compiled if need be.

    Raises:
        NoFlinkError: it cannot be had.
    """
    if shutil.which("javac") is None:
        raise NoFlinkError("it needs a Java 17 compiler (javac) on the PATH")
    library = _jars()
    return f"{compiled(SOURCES, library)}:{library}/*"


def _has_jars() -> bool:
    return any(JARS.glob(f"flink-runtime-{VERSION}.jar"))


def _jars() -> Path:
    if not _has_jars():
        try:
            fetch(HERE / "pom.xml", JARS, _has_jars)
        except FetchError as error:
            raise NoFlinkError(str(error)) from error
    return JARS


class FlinkLab(Lab):
    """``async with FlinkLab(folder)``: the folder is for checkpoints."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._answers: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._process: asyncio.subprocess.Process
        self._reading: asyncio.Task[None]
        self._drained = False

    async def __aenter__(self) -> Self:
        opens = [word for package in OPENED for word in ("--add-opens", f"java.base/{package}=ALL-UNNAMED")]
        command = ["java", *FLAGS, *opens, "-cp", classpath(), "Lab", str(self._folder)]
        errors = (self._folder / "errors").open("wb")
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=errors)
        errors.close()
        self._reading = asyncio.create_task(self._read())
        await self._answer()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._process.kill()
        await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            kind, *parts = json.loads(line)
            if kind == "event":
                self.journal.append((parts[0], parts[1]))
            else:
                self._answers.put_nowait((kind, parts[0]))
        said = (self._folder / "errors").read_text()[-4000:]
        self._answers.put_nowait(("error", f"the JVM ended: {said}"))

    async def _answer(self) -> str:
        kind, text = await asyncio.wait_for(self._answers.get(), 2 * WAIT_S)
        if kind == "error":
            raise RefusedError(text)
        return text

    async def _ask(self, *words: object) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        return await self._answer()

    async def new_case(self) -> None:
        await self._ask("case")

    async def start(self, job: str, parallelism: int = 1, restore: str = "-") -> None:
        self.journal.clear()
        self._drained = False
        await self._ask("start", job, parallelism, restore)

    async def open_gate(self, number: int) -> None:
        await self._ask("open", number)

    async def checkpoint(self) -> str:
        return await self._ask("checkpoint")

    async def final_checkpoint(self) -> str:
        """Flink takes it by itself as soon as all subtasks have told the end of their data."""
        await self.wait()
        return await self._ask("latest")

    async def savepoint(self) -> str:
        return await self._ask("savepoint")

    async def fail_at(self, pattern: str) -> None:
        await self._ask("fail", pattern)

    async def savepoint_left(self) -> str:
        return await self._ask("left")

    async def stop(self, *, drain: bool, forbidden: bool = False) -> str:
        where = "forbidden" if forbidden else "allowed"
        self._drained = drain
        folder = await self._ask("stop", "drain" if drain else "suspend", where)
        await self._forget_later_checkpoints()
        return folder

    async def _forget_later_checkpoints(self) -> None:
        """Flink begins a checkpoint of its own when all data has ended, after a drain too, where nobody needs
        it. How far it comes is left to chance."""
        if self._drained and (folder := await self.savepoint_left()) != "-":
            last = int(await self._ask("id", folder))
            self.journal[:] = [event for event in self.journal if _checkpoint_of(event[1]) <= last]

    async def cancel(self) -> None:
        await self._ask("cancel")

    async def wait(self) -> str:
        state = await self._ask("wait")
        await self._forget_later_checkpoints()
        return state

    async def finished_subtasks(self) -> int:
        return int(await self._ask("finished"))

    async def metadata(self, folder: str) -> str:
        operators = (await self._ask("metadata", folder)).split("; ")
        return "; ".join(sorted(o.replace("Sink Committer: sink", "sink-committer") for o in operators))


def _checkpoint_of(event: str) -> int:
    found = re.search(r"\.(?:prepare|snapshot|complete|aborted) (\d+)$", event)
    return int(found[1]) if found else 0
