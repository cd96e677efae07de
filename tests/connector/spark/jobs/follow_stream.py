"""A driver for tests: copies stream ``in`` of a scope into stream ``out``, exactly once, until it is stopped.

follow_stream.py CONTROLLER SCOPE CHECKPOINT
"""

import sys

from pravega_lab.connector.spark import create_session

controller, scope, checkpoint = sys.argv[1:]
where = {"controller": controller, "scope": scope}
quick_start = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # this JVM lives for seconds
spark = create_session(
    "follow", conf={"spark.master": "local[2]", "spark.driver.extraJavaOptions": quick_start}
)
(
    spark.readStream.format("pravega")
    .options(**where, stream="in", start_stream_cut="earliest", approx_bytes_per_trigger="3000")
    .load()
    .selectExpr("event", "split(cast(event as string), ':')[0] AS routing_key")
    .writeStream.format("pravega")
    .options(**where, stream="out")
    .option("checkpointLocation", checkpoint)
    .queryName("follow")
    .start()
    .awaitTermination()
)
