"""A driver for tests: copies stream ``in`` of a scope into stream ``out``, exactly once, until it has all
there is.

copy_stream.py CONTROLLER SCOPE CHECKPOINT MASTER [SINK OPTION=VALUE ...]
"""

import sys

from pravega_lab.connector.spark import create_session

controller, scope, checkpoint, master, *more = sys.argv[1:]
where = {"controller": controller, "scope": scope}
quick_start = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # these JVMs live for seconds
conf = {"spark.master": master, "spark.driver.extraJavaOptions": quick_start}
spark = create_session("copy", conf=conf)
(
    spark.readStream.format("pravega")
    .options(**where, stream="in", start_stream_cut="earliest", approx_bytes_per_trigger="10000000")
    .load()
    .selectExpr("event", "split(cast(event as string), ':')[0] AS routing_key")
    .writeStream.format("pravega")
    .options(**where, stream="out", **dict(option.split("=", 1) for option in more))
    .option("checkpointLocation", checkpoint)
    .queryName("copy")
    .trigger(availableNow=True)
    .start()
    .awaitTermination()
)
spark.stop()
