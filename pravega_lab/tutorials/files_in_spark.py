"""Spark's own source of files in tutorial 13: the Parquet files of the history, one file in each batch."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pravega_lab.tutorials.streaming_and_batch import DAY_MS

FIRST_S = 1_400_000_000  # modification times of the files, a minute apart


@dataclass
class CountedBySpark:
    """What the query emitted.

    ``days`` has the departures by day (days since 1970). ``batches`` has the number of each batch that was
    processed, in order; a repeated batch is there twice. ``rows`` has the number of rows that Spark read for
    each batch that it recorded.
    """

    days: dict[int, int] = field(default_factory=dict)
    batches: list[int] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)
    failures: int = 0


def give_times(folder: Path, names: Sequence[str]) -> None:
    """Give the files ``NAME.parquet`` modification times in this order, as copying them one by one does."""
    for number, name in enumerate(names):
        os.utime(folder / f"{name}.parquet", times=(FIRST_S + 60 * number,) * 2)


def count_in_spark(
    spark: Any, folder: Path, checkpoint: Path, *, fails_in: int | None = None
) -> CountedBySpark:
    """Count departures by day and origin, with a watermark of one day, until all files of a folder are read.

    Args:
        spark: A session of Spark.
        checkpoint: A new folder for the checkpoint of the query.
        fails_in: The batch in which the query fails once, after its rows were processed and before Spark
            records it. It is started again from its checkpoint.

    Raises:
        StreamingQueryException: If the query fails for another reason.
    """
    from pyspark.errors import StreamingQueryException
    from pyspark.sql import functions as F

    found, counts = CountedBySpark(), dict[tuple[str, int], int]()

    def take(rows: Any, batch: int) -> None:
        found.batches.append(batch)
        told = rows.select("origin", F.unix_millis("window.start").alias("at"), "count").collect()
        if batch == fails_in and not found.failures:
            found.failures += 1
            raise RuntimeError("the machine is gone")
        counts.update({(row["origin"], row["at"] // DAY_MS): row["count"] for row in told})

    def run() -> None:
        files = spark.readStream.schema("at long, origin string").option("maxFilesPerTrigger", 1)
        departures = files.parquet(str(folder)).withColumn("time", F.timestamp_millis("at"))
        daily = departures.withWatermark("time", "1 day").groupBy(F.window("time", "1 day"), "origin").count()
        writing = daily.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
        query = writing.outputMode("append").trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            found.rows.update({done.batchId: done.numInputRows for done in query.recentProgress})

    try:
        run()
    except StreamingQueryException:
        if not found.failures:
            raise
        run()
    for (_, day), n in counts.items():
        found.days[day] = found.days.get(day, 0) + n
    return found


def files_by_batch(checkpoint: Path) -> dict[int, list[str]]:
    """Return the names of the files that a checkpoint of Spark lists, by the number of their batch."""
    found: dict[int, set[str]] = {}
    for log in (checkpoint / "sources/0").glob("[0-9]*"):
        for line in log.read_text().splitlines()[1:]:  # the first line is the version of the format
            entry = json.loads(line)
            found.setdefault(entry["batchId"], set()).add(Path(entry["path"]).stem)
    return {batch: sorted(names) for batch, names in sorted(found.items())}
