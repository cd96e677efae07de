"""A notebook on a cluster with TLS and authentication, as a process of its own: what it does and shows.

Standard input: address, keywords of `Lab` and a stream, as JSON. Standard output: what came of it.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from contextlib import redirect_stdout
from typing import Any

from pravega_lab import Lab


def run(uri: str, access: dict[str, Any], name: str) -> dict[str, Any]:
    if "credentials" in access:
        access["credentials"] = tuple(access["credentials"])
    with Lab(uri=uri, **access) as lab, tempfile.TemporaryDirectory() as checkpoint:
        stream = lab.stream(name)
        rows = lab.spark.read.format("pravega").options(**stream.options()).load()
        events = [bytes(row.event).decode() for row in rows.select("event").collect()]
        target = {**stream.options(), "stream": "copy"}
        reading = lab.spark.readStream.format("pravega").options(**stream.options())
        copied = reading.option("start_stream_cut", "earliest").load().select("event")
        writing = copied.writeStream.format("pravega").options(**target)
        query = writing.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        with lab.stream(f"{stream.scope}/copy").read() as batches:
            copy = [e.decode() for batch in batches for e in batch.column("event").to_pylist()]
        seen = io.StringIO()
        with redirect_stdout(seen):
            rows.explain("extended")
            query.explain(True)
        conf = lab.spark.sparkContext.getConf().getAll()
        shown = [seen.getvalue(), str(conf), str(query.recentProgress), repr(lab), str(stream.options())]
    return {"events": events, "copy": copy, "shown": "\n".join(shown)}


if __name__ == "__main__":
    result = run(**json.load(sys.stdin))
    print(json.dumps(result))
