"""A Spark Connect server of the tests, started by the line of docs/spark.md."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.connector.spark.session.session import LOCAL_CONF
from tests.spark.cluster import ROOT, Daemon, environ_for_spark, free_port

#: Whether `make spark-connect` runs the tests, in a session of Spark Connect.
OVER_CONNECT = bool(os.environ.get("PRAVEGA_LAB_TEST_CONNECT"))
needs_jvm = pytest.mark.skipif(
    OVER_CONNECT, reason="asks the JVM of its session, which Connect does not have"
)
here_alone = pytest.mark.skipif(
    OVER_CONNECT, reason="keeps in this process what Connect keeps in that of its server"
)
PAGE = ROOT / "docs" / "spark.md"
STARTED = "Spark Connect server started"
#: What `create_session` sets in a session of this machine, and short-lived servers need too.
QUICK = (
    "--master local[2] --driver-memory 512m --conf spark.ui.enabled=false --conf spark.driver.host=127.0.0.1 "
    "--conf spark.python.daemon.module=pravega_lab.connector.spark.session.worker_daemon"
)


#: Settings of a session of `create_session` that a session of a server can have too.
CONF = {
    name: value
    for name, value in LOCAL_CONF.items()
    if name.startswith("spark.sql.") and "catalog" not in name
}


@contextmanager
def connect_server(store: str, folder: Path) -> Iterator[ConnectServer]:
    """A running server, stopped at the end."""
    server = ConnectServer(store, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class ConnectServer:
    """A server of one port, which is started and killed again and again. ``folder`` takes its logs."""

    def __init__(self, store: str, folder: Path) -> None:
        self.port = free_port()
        self.url = f"sc://127.0.0.1:{self.port}"
        found = re.search(r"^```sh\n(spark-submit .*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        assert found is not None
        quick = f"{QUICK} --conf spark.connect.grpc.binding.port={self.port}"
        self._line = "exec " + found[1].replace("spark-submit", f"spark-submit {quick}", 1)
        self._environ = environ_for_spark() | {"PRAVEGA_URI": store}
        self._folder = folder
        self._runs = 0
        self._daemon: Daemon | None = None

    def session(self) -> Any:
        """Return a new session with the settings of a local one.

        Other tests of this process may begin a session of its own JVM afterwards, which Spark's switch to
        Connect would prevent.
        """
        from pravega_lab.connector.spark import create_session

        made = create_session(remote=self.url, conf=CONF)
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
        return made

    def start(self) -> None:
        """Start the server, and wait until it takes sessions."""
        self._runs += 1
        warehouse = self._folder / f"warehouse-{self._runs}"
        line = self._line.replace(
            "spark-submit", f"spark-submit --conf spark.sql.warehouse.dir={warehouse}", 1
        )
        self._daemon = Daemon(line, self._environ, self._folder / f"server-{self._runs}.log")
        self._daemon.wait_for(STARTED)

    def kill(self) -> None:
        """Kill the server with signal 9."""
        assert self._daemon is not None
        self._daemon.kill()

    def stop(self) -> None:
        """Stop the server if it runs."""
        if self._daemon is not None:
            self._daemon.stop()
