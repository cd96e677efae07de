"""A driver for tests: reads a stream batch by batch, and stops for ever in the batch that HOLD names, while
that file exists.

held_up.py STREAM CHECKPOINT HOLD      (the controller is in PRAVEGA_URI; HOLD holds the number of the batch)
"""

import os
import sys
import time
from pathlib import Path

from pravega_lab.connector.spark import create_session

stream, checkpoint, hold = sys.argv[1], sys.argv[2], Path(sys.argv[3])


def work(rows, batch_id):
    rows.count()
    if hold.exists() and batch_id == int(hold.read_text()):
        hold.with_suffix(".reached").touch()
        time.sleep(600)


scope, name = stream.split("/")
spark = create_session("held up", conf={"spark.master": "local[2]"})
rows = (
    spark.readStream.format("pravega")
    .options(controller=os.environ["PRAVEGA_URI"], scope=scope, stream=name, start_stream_cut="earliest")
    .option("approx_bytes_per_trigger", "4000")
    .load()
)
query = rows.writeStream.foreachBatch(work).queryName("held").option("checkpointLocation", checkpoint)
query.trigger(availableNow=True).start().awaitTermination()
spark.stop()
