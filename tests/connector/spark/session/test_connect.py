"""Spark Connect: tests of the connector in a session of a server, savepoints, observers, a killed server."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.client import Client, Stream, connect
from pravega_lab.connector.spark.savepoint.savepoint import stop_with_savepoint
from pravega_lab.errors import BadInputError
from pravega_lab.lab.health import Health, _spark
from pravega_lab.observe import observe
from pravega_lab.observe.query.fold import fold_batches
from pravega_lab.testing import StoreProxy
from tests.connector.spark import test_savepoint
from tests.connector.spark.sink import test_sink
from tests.connector.spark.source import test_source
from tests.connector.spark.tables import test_catalog
from tests.spark.cluster import ROOT, environ_for_spark
from tests.spark.connect import ConnectServer, connect_server
from tests.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]
WAIT_S = 120.0


@pytest.fixture(scope="module")
def server(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    with connect_server(store, tmp_path_factory.mktemp("connect")) as server:
        yield server


@pytest.fixture(scope="module")
def spark(server: ConnectServer) -> Iterator[Any]:
    session = server.session()
    yield session
    session.stop()  # before the server: pyspark would ask it for minutes at the end of the process


# The same tests, with the session above; `make spark-connect` runs all of them.
scope = test_sink.scope
new_stream = test_source.new_stream
sql, shop = test_catalog.sql, test_catalog.shop
streams = test_savepoint.streams
test_batch = test_source.test_a_batch_reads_everything_once_in_order_over_all_epochs
test_catalog_tables = test_catalog.test_a_table_of_rows_is_created_filled_altered_and_dropped
test_catalog_streams = test_catalog.test_streaming_queries_read_and_write_tables


def test_a_query_is_observed_and_stopped_with_a_savepoint(
    spark: Any, streams: tuple[Stream, Stream], tmp_path: Path
) -> None:
    into, out = streams
    test_savepoint.write(into, 0, 300)
    query = test_savepoint.copying(spark, into, out, tmp_path / "cp").start()
    with observe(query=query) as watch:
        with pytest.raises(BadInputError, match=r"does not say where .* checkpoint='<folder>'"):
            stop_with_savepoint(query, tmp_path / "sp")
        with pytest.raises(BadInputError, match="has no checkpoint on this machine, and query"):
            stop_with_savepoint(query, tmp_path / "sp", checkpoint=tmp_path / "other")
        assert _spark(spark).health is Health.WELL
        assert "1 query" in _spark(spark).words
        savepoint = stop_with_savepoint(
            query, tmp_path / "sp", drain=True, timeout_s=WAIT_S, checkpoint=tmp_path / "cp"
        )
        assert not query.isActive
        assert test_savepoint.is_at_rest(savepoint)
        wait_until(lambda: any(o.kind == "query_ended" for o in watch.since()))
    assert not watch.trouble
    assert sum(row.done.input_rows for row in fold_batches(watch.since()).rows if row.done) == 300
    assert savepoint.cuts == {into.scoped_name: dict(into.tail().positions)}
    test_savepoint.write(into, 300, 350)
    test_savepoint.finish(test_savepoint.copying(spark, into, out, savepoint.path))
    assert Counter(test_savepoint.events(out)) == Counter(test_savepoint.events(into))


def test_the_guide_to_pipelines_runs_as_printed(
    server: ConnectServer, sql: Any, store: str, tmp_path: Path
) -> None:
    """Twice, with an order between the runs."""
    page = (ROOT / "docs" / "howto" / "pipeline.md").read_text()
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL))
    (tmp_path / "transformations").mkdir()
    (tmp_path / "transformations" / "shop.py").write_text(blocks["python"])
    spec = blocks["yaml"].replace("/tmp/shop-pipeline", str(tmp_path / "storage"))
    (tmp_path / "spark-pipeline.yml").write_text(spec)
    line = blocks["sh"].replace("sc://localhost:15002", server.url)
    environ = {**environ_for_spark(), "PRAVEGA_URI": store}

    def run() -> None:
        command = ["bash", "-c", line]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr

    def rows(columns: str, table: str) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, sql(f"SELECT {columns} FROM {table}")))

    try:
        for statement in blocks["sql"].split(";"):
            sql(statement)
        run()
        assert rows("item, count", "sold") == [("pot", 1), ("tea", 2)]
        sql("INSERT INTO pravega.shop.orders VALUES (4, 'cup', 4)")
        run()
        columns = "format 'json', columns 'id bigint, item string'"
        sql(f"ALTER TABLE pravega.shop.cheap SET TBLPROPERTIES ({columns})")
        assert rows("id, item", "pravega.shop.cheap") == [(1, "tea"), (3, "tea"), (4, "cup")]
        sql("REFRESH TABLE sold")  # this session has read it before
        assert rows("item, count", "sold") == [("cup", 1), ("pot", 1), ("tea", 2)]
    finally:
        sql("DROP DATABASE pravega.shop CASCADE")
        sql("DROP TABLE IF EXISTS sold")


def test_a_server_killed_between_decision_and_commit_writes_each_row_once(
    server: ConnectServer, spark: Any, store: str, client: Client, scope: str, tmp_path: Path
) -> None:
    """The last test of this module: the session of the others ends with the server."""
    with StoreProxy(store) as proxy, connect(proxy.uri) as slow:
        copying = test_sink.Copying(spark, slow, scope, tmp_path)
        copying.write(0, 500)
        proxy.hold("TableEntriesUpdated")
        copying.start()
        proxy.wait_held()
        server.kill()
        proxy.release(drop=True)
    assert test_sink.events(client.stream(f"{scope}/out")) == []
    said = _spark(spark)
    assert (said.health, "no answer" in said.words) == (Health.ILL, True)
    server.start()
    assert "lost the session" in _spark(spark).words
    session = server.session()
    again = test_sink.Copying(session, client, scope, tmp_path)
    again.write(500, 600)
    again.run()
    session.stop()
    assert test_sink.in_order(test_sink.events(again.target), 600)
