"""One run of the main job: streams, driver, replay, kill, closing event, verdict.

The command and the quickstart notebook drive the same object, ``Job``; each step is a method, in order.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

from pravega_lab.client import ScalingPolicy, Stream
from pravega_lab.datasets import FlightEvents
from pravega_lab.demo import pipeline
from pravega_lab.demo.history import Scales, current_epoch, scales_between
from pravega_lab.demo.replay import STORM_FIRST_DAY, STORM_LAST_DAY, Chunk, replay
from pravega_lab.demo.verdict import Verdict, check, read_json
from pravega_lab.errors import Definite, PravegaError
from pravega_lab.lab.lab import Lab

START_S_MAX = 180.0
FINISH_S_MAX = 300.0
# Not in the result, and later than every window: it moves the watermark past the last hour.
CLOSING_EVENT = json.dumps({"row": -1, "hour": "2015-12-31T00:00:00Z"})
CLOSING_KEY = "closing"


class JobFailedError(PravegaError):
    """Raised when the driver failed or did not finish; the message repeats its last output."""

    definite = Definite.UNKNOWN  # some of the hours may be written


def around_the_storm(flights: FlightEvents, events: int) -> FlightEvents:
    """Return so many flights of the schedule around the storm: what a short demo replays."""
    storm = flights.between(STORM_FIRST_DAY, STORM_LAST_DAY)
    first = int(flights.table.index.searchsorted(storm.table.index[0]))
    start = max(0, min(first - max(0, events - len(storm)) // 2, len(flights) - events))
    return flights.slice(start, min(start + events, len(flights)))


class Job:
    """One run of the main job: a stream of flights, a driver of Spark, and a stream of hours.

    Creating it creates both streams and starts the driver. Then come `wait_running`, `replay`, one of the
    two kills, and `finish`; `verdict` judges the result.

    Args:
        lab: The lab that the job runs in. Its store should have the scaling clock ``SCALING_CLOCK``, times
            the speed of the replay.
        scope: The scope of both streams. It is new for every job, so that jobs can follow each other in one
            lab.
        folder: Where the checkpoint and the driver's progress go.
        script: The driver script, which ends with `main`; by default the project's own pipeline.
        naive: Append without exactly-once.

    Attributes:
        flights: The stream that the replay writes.
        hours: The stream that the driver writes.
        driver: The `Driver` of Spark.
        checkpoint: The folder of the query's checkpoint.
        epochs_at_kill: The epoch of ``flights`` at each kill.

    Raises:
        AlreadyExistsError: The scope has these streams already.
    """

    def __init__(
        self,
        lab: Lab,
        scope: str,
        folder: Path,
        *,
        script: str | Path = Path(pipeline.__file__),
        naive: bool = False,
    ) -> None:
        self.lab = lab
        self.flights: Stream = lab.create_stream(f"{scope}/flights", scaling=ScalingPolicy.fixed(1))
        self.hours: Stream = lab.create_stream(f"{scope}/hours", scaling=ScalingPolicy.fixed(1))
        self._stop_file = folder / "stop"
        arguments = ["--scope", scope, "--flights", "flights", "--hours", "hours"]
        arguments += ["--checkpoint", str(folder / "checkpoint"), "--stop-file", str(self._stop_file)]
        arguments += ["--naive"] if naive else []
        folder.mkdir(parents=True, exist_ok=True)
        self.checkpoint = folder / "checkpoint"
        self.driver: Any = lab.submit(script, *arguments, progress_file=folder / "progress.jsonl")
        self.driver.checkpoint = self.checkpoint  # shows which batch a kill cut off
        self.epochs_at_kill: list[int] = []

    def wait_running(self, on_wait: Callable[[], None] = lambda: None) -> None:
        """Wait until the query has done its first, empty batch: from then on it keeps up.

        ``on_wait`` is called several times per second.

        Raises:
            JobFailedError: The driver ended, or did not get there within three minutes.
        """
        self._wait(lambda: (self.checkpoint / "commits" / "0").exists(), START_S_MAX, "start", on_wait)

    def replay(self, events: FlightEvents, chunks: list[Chunk], speed: float = 1.0) -> Iterator[Chunk]:
        """Write the flights as planned for this ``speed``, and yield each chunk when it is durable.

        The replay makes progress only while the caller takes chunks. The stream scales by itself while the
        replay is slow, and has one segment before and after.
        """
        return replay(self.flights, events, chunks, speed=speed)

    def kill_and_restart(self) -> None:
        """Kill the driver's Python and JVM with ``kill -9``, and start a new driver on the same
        checkpoint.
        """
        self.epochs_at_kill.append(current_epoch(self.flights))
        self.driver.kill()
        self.driver.restart()

    def kill_at_worst(self, *, tries: int = 5, patience_s: float = 60.0) -> Thread:
        """Kill and restart at the worst moment: a result is in the output stream, and Spark has not noted
        it yet.

        A thread waits for that moment while the replay continues. Returns that thread; pass it to `finish`.
        A kill that came too late is repeated, ``tries`` times at most.
        """
        thread = Thread(target=self._kill_at_worst, args=(tries, patience_s), daemon=True)
        thread.start()
        return thread

    def _kill_at_worst(self, tries: int, patience_s: float) -> None:
        for _ in range(tries):
            before = self.hours.tail()
            deadline = time.monotonic() + patience_s
            while self.hours.tail() == before:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.002)
            self.driver.kill()
            begun, noted = self._newest("offsets"), self._newest("commits")
            self.epochs_at_kill.append(current_epoch(self.flights))
            self.driver.restart()
            if begun > noted:
                return

    def _newest(self, log: str) -> int:
        """Return the newest batch in one of Spark's two logs: ``offsets`` (begun) or ``commits`` (noted
        as done).
        """
        return max((int(f.name) for f in (self.checkpoint / log).glob("[0-9]*")), default=-1)

    def finish(self, killer: Thread | None = None, on_wait: Callable[[], None] = lambda: None) -> None:
        """Write the closing event, let the driver process everything, and wait until it has ended.

        A ``killer`` (see `kill_at_worst`) that has not killed by then meets the last results.

        Raises:
            JobFailedError: The driver failed, or did not end within five minutes.
        """
        self.flights.write([CLOSING_EVENT], keys=[CLOSING_KEY])
        if killer is not None:
            killer.join()
        self._stop_file.touch()
        self._wait(lambda: not self.driver.alive, FINISH_S_MAX, "finish", on_wait)
        if self.driver.wait(timeout_s=10) != 0:
            raise JobFailedError(f"the driver failed: {self.driver.log()[-2000:]}")

    def rows_late(self) -> int:
        """Return the rows that Spark dropped as late, over all runs of the driver."""
        return sum(
            state.get("numRowsDroppedByWatermark", 0)
            for progress in self.driver.progress()
            for state in progress.get("stateOperators", [])
        )

    def result_bytes(self) -> int:
        """Return the length of the output stream, which shows that the job makes progress."""
        return sum(self.hours.tail().positions.values())

    def verdict(self, events: FlightEvents) -> Verdict:
        """Read both streams back with the client and compare them with the table."""
        return check(events, read_json(self.flights), read_json(self.hours), late=self.rows_late())

    def scales(self) -> list[Scales]:
        """Return splits and merges before the first kill, between kills, and after the last one."""
        edges = [0, *self.epochs_at_kill, current_epoch(self.flights)]
        return [scales_between(self.flights, a, b) for a, b in itertools.pairwise(edges)]

    def _wait(
        self, done: Callable[[], bool], patience_s: float, what: str, on_wait: Callable[[], None]
    ) -> None:
        deadline = time.monotonic() + patience_s
        while not done():
            on_wait()
            if what == "start" and not self.driver.alive:
                raise JobFailedError(
                    f"the driver ended before it started its query: {self.driver.log()[-2000:]}"
                )
            if time.monotonic() > deadline:
                raise JobFailedError(
                    f"the driver did not {what} within {patience_s:g} s: {self.driver.log()[-2000:]}"
                )
            time.sleep(0.1)
