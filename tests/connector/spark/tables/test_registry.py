"""Format ``pravega-registry`` in Spark: columns from the registry, and a schema that evolves in between."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from pravega_lab.client import Client, connect
from pravega_lab.client.registry import GZIP, Deserializer, SchemaRegistry, Serializer, avro_schema
from pravega_lab.connector.spark.options import parse_options
from pravega_lab.errors import BadInputError
from tests.connector.spark.tables.test_typed_rows import proto
from tests.spark.connect import needs_jvm
from tests.standalone import Standalone, logged_url

PAGE = Path(__file__).parents[4] / "docs" / "registry.md"
ID, NAME = {"name": "id", "type": "long"}, {"name": "name", "type": "string"}
MAIL = {"name": "mail", "type": ["null", "string"], "default": None}
GIVEN = {"controller": "tcp://localhost:9090", "scope": "shop", "stream": "orders"}
GIVEN["format"] = "pravega-registry"


def user(*fields: dict[str, Any]) -> Any:
    return avro_schema({"type": "record", "name": "User", "fields": list(fields)})


@pytest.fixture(scope="module")
def places() -> Iterator[tuple[Client, str]]:
    """A client of a store, and the address of the store's registry."""
    store = Standalone("--memory", "--registry-port", "0")
    with store as uri, connect(uri) as client:
        yield client, logged_url(store, "registry_open")


@pytest.fixture
def address(places: tuple[Client, str], scope_name: Callable[[], str]) -> dict[str, str]:
    client, registry = places
    return {**GIVEN, "controller": client.uri, "scope": scope_name(), "registry_uri": registry}


@pytest.fixture
def registry(address: dict[str, str]) -> SchemaRegistry:
    return SchemaRegistry(address["registry_uri"], namespace=address["scope"])


def load(spark: Any, address: dict[str, str], **more: str) -> Any:
    return spark.read.format("pravega").options(**address, **more).load()


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["avro", "json"])
def test_a_sink_registers_and_a_source_knows_the_columns(
    spark: Any, address: dict[str, str], places: tuple[Client, str], registry: SchemaRegistry, kind: str
) -> None:
    written = spark.range(0, 40, 1, 2).selectExpr("id", "concat('n', id) AS name", "id / 4 AS share")
    with pytest.raises(PySparkException, match="has no group 'orders' in namespace"):
        written.write.format("pravega").mode("append").options(**address).save()
    more = {"registry_register": "true", "registry_format": kind, "registry_codec": "gzip"}
    written.write.format("pravega").mode("append").options(**address, **more).save()
    found = load(spark, address)
    assert found.columns == ["id", "name", "share"]
    assert sorted(found.collect()) == sorted(written.collect())
    assert load(spark, address).select("name").count() == 40
    reader = Deserializer(registry, "orders")
    with places[0].stream(f"{address['scope']}/orders").read() as batches:
        events = [event for batch in batches for event in batch.column("event").to_pylist()]
    values = [reader.deserialize(event) for event in events]
    assert sorted(value["id"] for value in values) == list(range(40))
    assert next(value["share"] for value in values if value["id"] == 6) == 1.5


@pytest.mark.spark
@pytest.mark.slow
def test_the_examples_of_the_page_run_in_their_order(
    spark: Any, places: tuple[Client, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of its second example have to fit the schema that the first one registers."""
    client, registry = places
    monkeypatch.setattr("pravega_lab.connector.spark.create_session", lambda: spark)
    names: dict[str, Any] = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        here = example.replace("http://localhost:9092", registry).replace(GIVEN["controller"], client.uri)
        exec(here, names)
    written = load(spark, names["where"])
    assert sorted(row.id for row in written.collect()) == [151, 152]


@needs_jvm
@pytest.mark.spark
@pytest.mark.slow
def test_a_column_is_added_in_the_middle_of_a_stream_while_a_query_runs(
    spark: Any, address: dict[str, str], places: tuple[Client, str], registry: SchemaRegistry, tmp_path: Path
) -> None:
    """The running query keeps its columns, and reads the events of both versions. Restarted from its
    checkpoint, it has the new column.
    """
    registry.create_group("orders", "Avro", "Backward")
    stream = places[0].create_stream(f"{address['scope']}/orders")
    old = Serializer(registry, "orders", user(ID, NAME), register=True)
    stream.write([old.serialize({"id": n, "name": "old"}) for n in range(10)])
    seen: dict[int, list[Any]] = {}

    def keep(batch: Any, number: int) -> None:
        seen[number] = [tuple(row) for row in batch.orderBy("id").collect()]

    def start() -> Any:
        source = spark.readStream.format("pravega").options(**address, start_stream_cut="earliest").load()
        chosen = source.select(*source.columns)
        return chosen.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path)).start()

    query = start()
    query.processAllAvailable()
    assert [row for rows in seen.values() for row in rows] == [(n, "old") for n in range(10)]
    new = Serializer(registry, "orders", user(ID, NAME, MAIL), codec=GZIP, register=True)
    events = []
    for n in range(10, 20):  # both versions go on
        value = {"id": n, "name": "new"}
        events.append(new.serialize({**value, "mail": f"{n}@b"}) if n % 2 else old.serialize(value))
    stream.write(events)
    query.processAllAvailable()
    query.stop()
    rows = [row for number in sorted(seen) for row in seen[number]]
    assert rows == [(n, "old") for n in range(10)] + [(n, "new") for n in range(10, 20)]

    seen.clear()
    stream.write([new.serialize({"id": 20, "name": "new", "mail": None}), events[0], events[1]])
    query = start()
    query.processAllAvailable()
    query.stop()
    again = [row for number in sorted(seen) for row in seen[number]]
    assert again == [(10, "new", None), (11, "new", "11@b"), (20, "new", None)]
    everything = load(spark, address).orderBy("id", "name").collect()
    assert [row.mail for row in everything if row.id == 19] == ["19@b"]
    assert len(everything) == 23


@pytest.mark.spark
@pytest.mark.slow
def test_streaming_queries_read_and_write_every_format(
    spark: Any, address: dict[str, str], places: tuple[Client, str], tmp_path: Path
) -> None:
    """Each query reads what the one before it wrote, in the next format. A second run adds nothing."""
    where = {name: address[name] for name in ("controller", "scope")}
    formats: dict[str, dict[str, str]] = {
        "json": {},
        "csv": {},
        "avro": {},
        "protobuf": proto(tmp_path),
        "pravega-registry": {"registry_uri": address["registry_uri"], "registry_register": "true"},
        **{name: {"primary_key": "id"} for name in ("debezium-json", "canal-json", "maxwell-json")},
        "raw": {},
    }
    options = {name: {**where, "stream": name, "format": name, **more} for name, more in formats.items()}
    events = [json.dumps({"id": n, "item": f"item {n}"}).encode() for n in range(30)]
    places[0].create_stream(f"{address['scope']}/json").write(events)
    for source, sink in pairwise(formats):
        for _ in range(2):
            rows = spark.readStream.format("pravega").options(**options[source], start_stream_cut="earliest")
            query = (
                rows.schema("id bigint, item string")
                .load()
                .select(*(["item"] if sink == "raw" else ["id", "item"]))
                .writeStream.format("pravega")
                .options(**options[sink], checkpointLocation=str(tmp_path / sink))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
    found = spark.read.format("pravega").options(**options["raw"]).schema("item string").load()
    assert sorted(row.item for row in found.collect()) == sorted(f"item {n}" for n in range(30))


@pytest.mark.spark
def test_what_is_no_event_of_the_group_fails_is_dropped_or_kept(
    spark: Any, address: dict[str, str], places: tuple[Client, str], registry: SchemaRegistry
) -> None:
    good = Serializer(registry, "orders", user(ID, NAME), register=True).serialize({"id": 1, "name": "Ann"})
    bad = [b"no header", b"\x01\x00\x00\x00\x63abc", good[:-1]]
    places[0].create_stream(f"{address['scope']}/orders").write([good, *bad, good])
    with pytest.raises(PySparkException, match="no row of format 'pravega-registry': it has no header"):
        load(spark, address).collect()
    assert load(spark, address, corrupt_rows="drop").count() == 2
    reader = spark.read.format("pravega").options(**address, corrupt_rows="keep")
    kept = reader.schema("id bigint, name string, _corrupt binary").load().collect()
    assert [bytes(row._corrupt) for row in kept if row._corrupt is not None] == bad


@pytest.mark.spark
def test_an_unreachable_registry_is_reported_with_its_address(spark: Any, address: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(PySparkException, match=f"registry at {uri} does not answer"):
        load(spark, {**address, "registry_uri": uri}).schema  # noqa: B018


def test_the_group_is_that_of_the_stream_unless_it_is_named() -> None:
    options = parse_options({**GIVEN, "registry_uri": "http://a:1"})
    assert options.format_options["registry_namespace"] == "shop"
    assert options.format_options["registry_group"] == "orders"
    flink = {"pravega-registry.uri": "http://a:1", "pravega-registry.group-id": "g", "stream": "a,b"}
    found = parse_options({**GIVEN, **flink, "pravega-registry.namespace": "n"}).format_options
    assert found.pop("registry_access")["ca_file"] is None
    assert found == {"registry_uri": "http://a:1", "registry_namespace": "n", "registry_group": "g"}
    several = parse_options({**GIVEN, "registry_uri": "http://a:1", "stream": "a,b"})
    assert "registry_group" not in several.format_options
    with pytest.raises(BadInputError, match=r"format 'json'.* belongs to format 'pravega-registry'"):
        parse_options({**GIVEN, "format": "json", "registry_uri": "http://a:1"})
    with pytest.raises(BadInputError, match="it is one of none, gzip, snappy"):
        parse_options({**GIVEN, "registry_codec": "zip"})
