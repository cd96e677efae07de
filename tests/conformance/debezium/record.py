"""Record what a released Debezium writes about a table: python -m tests.conformance.debezium.record

A PostgreSQL in a temporary folder executes the statements of `statements`, and Debezium reads its log. The
messages become the file from which `pravega_lab.datasets.order_changes` takes them. Maven fetches the jars
into ``.cache/debezium/lib`` of the checkout. ``initdb``, ``postgres`` and ``psql`` have to be on the PATH.
"""

from __future__ import annotations

import gzip
import itertools
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pravega_lab.datasets import ORDER_CHANGES, ORDER_CHANGES_FILE
from tests.conformance.debezium.statements import SNAPSHOT_ORDERS, TABLE, WHOLE_ROWS, changes, statement
from tests.conformance.maven import fetch
from tests.conformance.real_pravega import free_ports

ROOT = Path(__file__).resolve().parents[3]
JARS = ROOT / ".cache" / "debezium" / "lib"
FOLDER = Path(__file__).parent
START_S_MAX = 60.0
USER, DATABASE = "postgres", "shop"


def record() -> list[bytes]:
    """Return the message of each change, in order."""
    if not _has_jars():
        fetch(FOLDER / "pom.xml", JARS, _has_jars)
    sql = [statement(change) for change in itertools.islice(changes(), ORDER_CHANGES)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(database(folder))
        run(port, "postgres", [f"CREATE DATABASE {DATABASE};"])
        run(port, DATABASE, [TABLE, WHOLE_ROWS, *sql[:SNAPSHOT_ORDERS]])
        lines = stack.enter_context(debezium(folder, port))
        messages = list(itertools.islice(lines, SNAPSHOT_ORDERS))
        run(port, DATABASE, sql[SNAPSHOT_ORDERS:])
        messages += itertools.islice(lines, ORDER_CHANGES - SNAPSHOT_ORDERS)
    return messages


@contextmanager
def database(folder: Path) -> Iterator[int]:
    """A PostgreSQL with a log that Debezium can read; gives its port."""
    data, [port] = folder / "data", free_ports(1)
    data.mkdir()
    user = None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        user = USER
        folder.chmod(0o755)
        os.chown(data, pwd.getpwnam(user).pw_uid, -1)
    options = {"user": user, "cwd": data, "stdout": subprocess.DEVNULL}
    subprocess.run(["initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8"], check=True, **options)
    settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": data}
    settings |= {"wal_level": "logical", "fsync": "off"}
    named = [f"-c{name}={value}" for name, value in settings.items()]
    with (folder / "postgres.log").open("wb") as log:
        process = subprocess.Popen(["postgres", "-D", data, *named], stderr=log, **options)
    try:
        deadline = time.monotonic() + START_S_MAX
        while subprocess.run([*psql(port, "postgres"), "-c", "SELECT 1"], capture_output=True).returncode:
            assert process.poll() is None, (folder / "postgres.log").read_text()
            assert time.monotonic() < deadline, "PostgreSQL did not start"
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def psql(port: int, name: str) -> list[str]:
    return ["psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(port), "-U", USER, name]


def run(port: int, name: str, statements: Sequence[str]) -> None:
    """Execute each statement in a transaction of its own."""
    subprocess.run(psql(port, name), input="\n".join(statements), text=True, check=True)


@contextmanager
def debezium(folder: Path, port: int) -> Iterator[Iterator[bytes]]:
    """A running Debezium; gives the messages that it writes."""
    settings = {
        "name": "orders",
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "publication.autocreate.mode": "filtered",
        "table.include.list": "public.orders",
        "topic.prefix": "shop",
        "database.hostname": "127.0.0.1",
        "database.port": port,
        "database.user": USER,
        "database.password": USER,
        "database.dbname": DATABASE,
        "snapshot.mode": "initial",
        "tombstones.on.delete": "false",
        "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
        "converter.schemas.enable": "false",
    }
    file = folder / "debezium.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    command = ["java", "-Xmx512m", "-cp", f"{JARS}/*", FOLDER / "java" / "Recorder.java", file]
    with (folder / "debezium.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield (line.rstrip(b"\n") for line in process.stdout if line.startswith(b"{"))
    finally:
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        shutil.copyfileobj((folder / "debezium.log").open(), sys.stderr) if process.returncode else None


def _has_jars() -> bool:
    return any(JARS.glob("debezium-connector-postgres-*.jar"))


if __name__ == "__main__":
    found = record()
    assert len(found) == ORDER_CHANGES, f"{len(found)} messages"
    ORDER_CHANGES_FILE.write_bytes(gzip.compress(b"\n".join(found) + b"\n", 9, mtime=0))
    print(f"{ORDER_CHANGES_FILE}: {len(found)} messages, {ORDER_CHANGES_FILE.stat().st_size} bytes")
