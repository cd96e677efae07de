"""A released Kafka broker on the loopback address, its log in a folder of its own, and Kafka's Python client.

Jars and client are fetched once into ``.cache/kafka-benchmark`` of the checkout, by Maven and pip. The
broker is one node with KRaft and Kafka's defaults; as usual with Kafka, it acknowledges without a sync of
the disk.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType

from benchmarks.common import maven
from benchmarks.common.maven import NoJarsError, jars

POMS = Path(__file__).parent / "maven"
CACHE = maven.CACHE / "kafka-benchmark"
CLIENT = "confluent-kafka==2.16.0"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
HEAP = "-Xmx512m"
START_S_MAX, STOP_S_MAX, FETCH_S_MAX = 60.0, 15.0, 300.0
UNTIL_INPUT_ENDS = ["sh", "-c", '"$@" & broker=$!; cat; kill -9 $broker; wait $broker', "sh"]
"""Runs a command until its standard input ends: a broker does not outlive a benchmark that is killed."""

SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""


class NoKafkaError(Exception):
    """Raised when there is no Java, no jar or no client, or when the broker does not start."""


class Broker:
    """``with Broker() as servers``: a broker for the time of the block.

    Raises:
        NoKafkaError: It cannot be had.
    """

    def __init__(self, data: str | None = None) -> None:
        self._data = data

    def __enter__(self) -> str:
        make_client_importable()
        if shutil.which("java") is None:
            raise NoKafkaError("it needs Java 17 on the PATH")
        try:
            library = jars(POMS / "broker.xml", CACHE / "broker", "kafka_2.13-*.jar")
        except NoJarsError as error:
            raise NoKafkaError(str(error)) from error
        self._folder = Path(tempfile.mkdtemp(prefix="kafka-", dir=self._data))
        port, controller = _free_port(), _free_port()
        settings = self._folder / "server.properties"
        settings.write_text(SETTINGS.format(port=port, controller=controller, folder=self._folder / "log"))
        java = ["java", HEAP, "-cp", f"{library}/*"]
        self._process: subprocess.Popen[bytes] | None = None
        try:
            _format_log([*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings)])
            nowhere = subprocess.DEVNULL
            command = [*UNTIL_INPUT_ENDS, *java, "kafka.Kafka", str(settings)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere)
            _wait_until_it_serves(f"127.0.0.1:{port}")
        except BaseException:
            self._stop()
            raise
        return f"127.0.0.1:{port}"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            try:
                self._process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                print(f"THE BROKER did not stop within {STOP_S_MAX:g} s", file=sys.stderr)
        shutil.rmtree(self._folder, ignore_errors=True)


def make_client_importable() -> None:
    """Make ``confluent_kafka`` importable here and in child processes. Raises NoKafkaError."""
    if importlib.util.find_spec("confluent_kafka") is not None:
        return
    folder = CACHE / "python"
    if not any(folder.glob("confluent_kafka*")):
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), CLIENT]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_S_MAX)
        except subprocess.TimeoutExpired as error:
            raise NoKafkaError(f"pip did not install {CLIENT} within {FETCH_S_MAX:g} s") from error
        if done.returncode:
            raise NoKafkaError(f"pip could not install {CLIENT}: {done.stderr[-500:]}")
    sys.path.append(str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(folder)]))
    importlib.invalidate_caches()


def connector_jars() -> str:
    """Return the jars of Spark's connector, as ``spark.jars`` takes them. Raises NoKafkaError."""
    try:
        library = jars(POMS / "connector.xml", CACHE / "connector", "spark-sql-kafka-*.jar")
    except NoJarsError as error:
        raise NoKafkaError(f"Spark's connector: {error}") from error
    return ",".join(map(str, sorted(library.glob("*.jar"))))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _format_log(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_S_MAX)
    except subprocess.TimeoutExpired as error:
        raise NoKafkaError(f"its log was not formatted within {START_S_MAX:g} s") from error
    if done.returncode:
        raise NoKafkaError(f"its log cannot be formatted: {(done.stdout + done.stderr)[-500:]}")


def _wait_until_it_serves(servers: str) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    deadline = time.monotonic() + START_S_MAX
    while time.monotonic() < deadline:
        try:
            admin.list_topics(timeout=2.0)
        except KafkaException:
            continue
        return
    raise NoKafkaError(f"the broker did not serve within {START_S_MAX:g} s")
