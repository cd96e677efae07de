"""The Spark driver of the main job, a separate script so that it can be killed: flights in, hours out.

    pipeline.py --scope S --flights IN --hours OUT --checkpoint DIR --stop-file FILE [--naive]

The driver reads the stream of flights while it is being written. Per hour and origin it counts departures
and cancellations and sums the delays. It writes each finished hour as one event to a second stream, exactly
once (or, with ``--naive``, at least once). It ends when FILE exists and everything written by then is
processed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Rows with a column `event` to rows `event, routing_key`.
Query = Callable[[Any], Any]

#: The columns of a flight, in the form of Spark's ``from_json``; ``hour`` is in UTC, ``delay`` in minutes.
SCHEMA = "row long, hour timestamp, origin string, delay double, cancelled boolean"
#: How much older than the newest flight a flight may be before the query drops it as late. A batch may end
#: earlier in one segment than in another, and writes come in chunks of at most six hours: a day is plenty.
WATERMARK = "1 day"
#: The query keeps flights before this time. The closing event is later: it moves the watermark past the last
#: hour, and is not in the result.
END_OF_DATA = "2014-12-31T00:00:00Z"


def hourly(events: Any) -> Any:
    """Return the query from rows with a column ``event`` to ``event, routing_key`` per hour and origin."""
    from pyspark.sql import functions as F

    flights = (
        events.select(F.from_json(F.col("event").cast("string"), SCHEMA).alias("flight"))
        .select("flight.*")
        .withWatermark("hour", WATERMARK)
        .where(F.col("hour") < F.lit(END_OF_DATA).cast("timestamp"))
    )
    hours = flights.groupBy("hour", "origin").agg(
        F.count("*").alias("departures"),
        F.sum(F.col("delay").cast("long")).alias("delay_sum"),
        F.avg("delay").alias("delay_mean"),
        F.sum(F.col("cancelled").cast("long")).alias("cancelled"),
    )
    hour = F.date_format("hour", "yyyy-MM-dd'T'HH:mm:ss'Z'").alias("hour")
    rest = ["origin", "departures", "delay_sum", "delay_mean", "cancelled"]
    return hours.select(
        F.to_json(F.struct(hour, *rest), {"ignoreNullFields": "false"}).alias("event"),
        F.col("origin").alias("routing_key"),
    )


def start(spark: Any, args: argparse.Namespace, query: Query) -> Any:
    """Start the streaming query from the flights to the hours."""
    where = {"controller": os.environ["PRAVEGA_URI"], "scope": args.scope}
    events = (
        spark.readStream.format("pravega")
        .options(**where, stream=args.flights, start_stream_cut="earliest")
        .schema("event binary")
        .load()
    )
    return (
        query(events)
        .writeStream.format("pravega")
        .options(**where, stream=args.hours, exactly_once=str(not args.naive).lower())
        .option("checkpointLocation", args.checkpoint)
        .queryName("hours")
        .start()
    )


def main(query: Query = hourly) -> None:
    """Run ``query`` over the flights until the stop file exists and everything is processed.

    A driver script ends with this call. It reads the command line that `Job` gives the script, starts a Spark
    session in the time zone UTC, and returns when the query has stopped.

    Args:
        query: From a frame with the column ``event`` (bytes) to one with ``event`` and ``routing_key``.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("--scope", "--flights", "--hours", "--checkpoint", "--stop-file"):
        parser.add_argument(name, required=True)
    parser.add_argument("--naive", action="store_true", help="append without exactly-once")
    args = parser.parse_args()

    from pravega_lab.connector.spark.session.session import create_session

    spark = create_session()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    running = start(spark, args, query)
    stop_file = Path(args.stop_file)
    while not stop_file.exists() and running.isActive:
        time.sleep(0.1)
    running.processAllAvailable()
    running.stop()
    spark.stop()


if __name__ == "__main__":
    main()
