"""A Spark session that knows nothing of this project finds ``format("pravega")`` of the installed wheel.

Run by `wheel_demo` in the wheel's environment (activated: Spark starts its workers with the `python3` of the
path), away from the checkout.
"""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from pravega_lab import connect
from pravega_lab.connector.spark.session.java import find_java
from pravega_lab.engine.server.store_process import StoreProcess

EVENTS = [f"event {i}".encode() for i in range(100)]


def main() -> None:
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with StoreProcess() as store, connect(store.uri) as client:
        client.create_stream("plain/in").write(EVENTS)
        plain = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        spark = plain.getOrCreate()
        source = spark.read.format("pravega").option("controller", store.uri)
        rows = source.option("scope", "plain").option("stream", "in").load().select("event").collect()
        spark.stop()
    found = sorted(bytes(row.event) for row in rows)
    assert found == sorted(EVENTS), f"{len(found)} rows of {len(EVENTS)}"
    print(f"a plain Spark session read {len(found)} rows")


if __name__ == "__main__":
    main()
