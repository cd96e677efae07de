"""A driver for tests, with a plain Spark session in which the format was not registered.

plain_session.py CONTROLLER SCOPE CHECKPOINT
"""

import os
import sys

from pyspark.sql import SparkSession

from pravega_lab.connector.spark.session.progress import PROGRESS_FILE_VARIABLE, write_progress

controller, scope, checkpoint = sys.argv[1:]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
write_progress(spark, os.environ[PROGRESS_FILE_VARIABLE])
source = spark.readStream.format("pravega").option("controller", controller).option("scope", scope)
query = (
    source.option("stream", "in")
    .option("start_stream_cut", "earliest")
    .load()
    .writeStream.format("noop")
    .option("checkpointLocation", checkpoint)
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.stop()
