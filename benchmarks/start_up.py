"""How long until one can begin: python -m benchmarks.start_up

Imports in a fresh Python; the store from its start until it says "ready"; `Lab()` without Spark from the
call until it answers, and until a first event was written and read back. Each in a process of its own.

``--spark`` measures instead how long `Lab()` and a session take until the first micro-batch of a streaming
query is done: with the home that sessions have, and with the folder of pyspark as home.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common.run import Run, in_turns, parser_of, rounds_of
from pravega_lab.engine.server.store_process import StoreProcess

ROOT = Path(__file__).resolve().parents[1]
IMPORTS = {
    "import pravega_lab": "import pravega_lab",
    "import the store": "import pravega_lab.engine.server.standalone",
    "import the client": "import pravega_lab.client",
}
NOTHING = "pass"
LAB = """
import time
began = time.perf_counter()
from pravega_lab import Lab
lab = Lab()
scopes = lab.client.list_scopes()
usable = time.perf_counter() - began
stream = lab.create_stream("demo/first")
stream.write(["an event"], ["a key"])
with stream.read() as batches:
    assert sum(batch.num_rows for batch in batches) == 1
print(usable, time.perf_counter() - began)
lab.close()
"""
SPARK = """
import time
began = time.perf_counter()
from pravega_lab import Lab
lab = Lab()
stream = lab.create_stream("demo/first")
stream.write(["an event"], ["a key"])
options = {**stream.options(), "start_stream_cut": "earliest"}
reading = lab.spark.readStream.format("pravega").options(**options).load()
query = reading.writeStream.format("memory").queryName("found").start()
query.processAllAvailable()
assert lab.spark.table("found").count() == 1
print(time.perf_counter() - began)
query.stop()
lab.close()
"""
FIRST_BATCH, OURS, PYSPARK = "Lab().spark, first micro-batch done, s", "our home", "home of pyspark"
USABLE, FIRST_EVENT = "Lab() answers, import included, s", "Lab(), first event written and read back, s"
PYTHON = "Python alone, s"


def run_python(code: str, environ: dict[str, str] | None = None) -> tuple[float, str]:
    """Seconds of the whole process, and what it printed."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=180
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"{code}\n{done.stderr}")
    return seconds, done.stdout


def seconds_to_import(code: str) -> float:
    timed = f"import time; began = time.perf_counter(); {code}; print(time.perf_counter() - began)"
    return float(run_python(timed)[1])


def seconds_to_ready(folder: str | None) -> float:
    begin = time.perf_counter()
    with StoreProcess(folder):
        return time.perf_counter() - begin


def one_round() -> dict[str, float]:
    found = {f"{name}, s": seconds_to_import(code) for name, code in IMPORTS.items()}
    found[PYTHON] = run_python(NOTHING)[0]
    found["standalone --memory is ready, s"] = seconds_to_ready(None)
    with tempfile.TemporaryDirectory() as folder:
        found["standalone --data (empty) is ready, s"] = seconds_to_ready(f"{folder}/store")
    usable, first_event = run_python(LAB)[1].split()
    return {**found, USABLE: float(usable), FIRST_EVENT: float(first_event)}


def seconds_to_first_batch(home: str) -> float:
    environ = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    if home == PYSPARK:
        found = importlib.util.find_spec("pyspark")
        if found is None or found.origin is None:
            raise SystemExit("pyspark is not installed: pip install 'pravega-lab[spark]'")
        environ["SPARK_HOME"] = str(Path(found.origin).parent)
    return float(run_python(SPARK, environ)[1].splitlines()[-1])


def compare_homes(run: Run, options: argparse.Namespace) -> None:
    for turn in rounds_of(options):
        for home in in_turns((OURS, PYSPARK), turn):
            seconds = seconds_to_first_batch(home)
            if turn:
                run.add(FIRST_BATCH, home, seconds)
    run.ratio("first micro-batch, our home : home of pyspark", (FIRST_BATCH, OURS), (FIRST_BATCH, PYSPARK))


def compare(run: Run, options: argparse.Namespace) -> None:
    for turn in rounds_of(options):
        for what, seconds in one_round().items():
            if turn:  # the first round fills the caches of files
                run.add(what, "fresh process", seconds)


def judge(run: Run) -> None:
    for what in run.figures:
        wanted = {"import pravega_lab, s": 0.3, "import the store, s": 0.3}.get(what[0], 1.0)
        if what[0] not in (PYTHON, "import the client, s"):
            run.target(what[0], run.median(*what), wanted, at_least=False)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--spark", action="store_true", help="a first micro-batch of Spark, and nothing else")
    options = parser.parse_args()
    run = Run("Start-up")
    if options.spark:
        compare_homes(run, options)
    else:
        compare(run, options)
        judge(run)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())
