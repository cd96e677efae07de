"""Retention round by round: what the head of each stream is after each period of a store.

``python -m tests.conformance.retention`` runs the rounds on a real Pravega 0.13.0, whose shortest period is a
minute, and compares them with `HEADS` (about four minutes). ``test_retention.py`` runs them on the embedded
store.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from pravega_lab.client import Client, RetentionPolicy, Stream, connect
from pravega_lab.client.reader_group import ReaderGroup, RetentionType, reading
from pravega_lab.protocol.stream_cut import StreamCut
from tests.conformance.real_pravega import NoRealPravegaError, RealPravega

ROUNDS = 4
EVENT = "x" * 92  # 100 bytes with its header
SCOPE = "retention"
LOW, HIGH = 1 << 32 | 1, 1 << 32 | 2  # the halves of the split stream


@dataclass(frozen=True)
class Case:
    """A stream with a policy, and what its one subscriber releases before the end of each round."""

    name: str
    policy: Callable[[int], RetentionPolicy]  # of the period in ms
    released: tuple[int | None, ...] | None = None
    """An offset for each round, None for no call. Without the tuple there is no subscriber."""
    split_in: int | None = None
    seal_in: int | None = None


CASES = (
    Case("size", lambda period: RetentionPolicy.by_size(150)),
    Case("time", lambda period: RetentionPolicy.by_time(period // 2)),
    Case("slow-size", lambda period: RetentionPolicy.by_size(100, 250), (0, None, None, None)),
    Case("fast-size", lambda period: RetentionPolicy.by_size(150), (100, 200, 300, 400)),
    Case("half-size", lambda period: RetentionPolicy.by_size(10), (0, 150, None, 350)),
    Case(
        "slow-time",
        lambda period: RetentionPolicy.by_time(period // 2, period * 3 // 2),
        (0, None, None, None),
    ),
    Case("fast-time", lambda period: RetentionPolicy.by_time(period // 2), (100, 200, 300, 400)),
    Case("half-time", lambda period: RetentionPolicy.by_time(0), (0, None, 150, None)),
    Case("silent", lambda period: RetentionPolicy.by_size(10), (None, None, None, None)),
    Case("split", lambda period: RetentionPolicy.by_size(150), split_in=2),
    Case("sealed", lambda period: RetentionPolicy.by_time(0), seal_in=2),
)

HEADS: dict[str, list[dict[int, int]]] = {
    "size": [{0: 0}, {0: 0}, {0: 100}, {0: 200}],
    "time": [{0: 0}, {0: 100}, {0: 200}, {0: 300}],
    "slow-size": [{0: 0}, {0: 0}, {0: 100}, {0: 200}],
    "fast-size": [{0: 0}, {0: 0}, {0: 100}, {0: 200}],
    "half-size": [{0: 0}, {0: 150}, {0: 150}, {0: 350}],
    "slow-time": [{0: 0}, {0: 0}, {0: 200}, {0: 200}],
    "fast-time": [{0: 0}, {0: 100}, {0: 200}, {0: 300}],
    "half-time": [{0: 0}, {0: 0}, {0: 150}, {0: 150}],
    "silent": [{0: 0}, {0: 100}, {0: 200}, {0: 300}],
    "split": [{0: 0}, {0: 0}, {0: 100}, {LOW: 0, HIGH: 100}],
    "sealed": [{0: 100}, {0: 100}, {0: 100}, {0: 100}],
}
"""The heads of the streams after each round, as a real Pravega 0.13.0 had them."""

DELIBERATE: dict[str, list[dict[int, int]]] = {
    "silent": [{0: 0}, {0: 0}, {0: 0}, {0: 0}],
}
"""Where the embedded store differs on purpose (docs/differences.md)."""


class TooSlowError(Exception):
    """A round took longer than a period, so the store truncated twice in it."""


class Rounds:
    """Runs the rounds on one store. ``period_s`` is the period of its retention."""

    def __init__(self, client: Client, period_s: float) -> None:
        self._ended_s = time.monotonic()
        self._client = client
        self._period_s = period_s
        period_ms = int(period_s * 1000)
        self._streams: dict[str, Stream] = {}
        self._groups: dict[str, ReaderGroup] = {}
        for case in CASES:
            name = f"{SCOPE}/{case.name}"
            self._streams[case.name] = client.create_stream(name, retention=case.policy(period_ms))
            if case.released is not None:
                by_hand = RetentionType.MANUAL_RELEASE_AT_USER_STREAMCUT
                config = reading([name], retention_type=by_hand)
                self._groups[case.name] = client.create_reader_group(f"{SCOPE}/g-{case.name}", config)
        # Created last, so that the others are due before it where each stream has its own period.
        self._beacon = client.create_stream(f"{SCOPE}/beacon", retention=RetentionPolicy.by_time(0))

    def run(self) -> dict[str, list[dict[int, int]]]:
        """Return the head of each stream after each round.

        Raises:
            TooSlowError: The machine has no time for periods as short as these.
        """
        found: dict[str, list[dict[int, int]]] = {case.name: [] for case in CASES}
        for number in range(ROUNDS):
            for case in CASES:
                self._prepare(case, number)
            self._wait_for_the_period()
            for case in CASES:
                found[case.name].append(dict(sorted(self._streams[case.name].head().positions.items())))
            took_s, self._ended_s = time.monotonic() - self._ended_s, time.monotonic()
            if took_s > 1.4 * self._period_s:
                raise TooSlowError(f"round {number + 1} took {took_s:.1f} s of {self._period_s} s")
        return found

    def _prepare(self, case: Case, number: int) -> None:
        stream = self._streams[case.name]
        if case.split_in == number + 1:
            stream.split(0)
        if case.seal_in is None or number < case.seal_in:
            stream.write(EVENT, "key")
        if case.seal_in == number + 1:
            stream.seal()
        offset = case.released[number] if case.released else None
        if offset is not None:
            cut = StreamCut(stream.scoped_name, {0: offset})
            self._groups[case.name].update_retention_stream_cut({stream.scoped_name: cut})

    def _wait_for_the_period(self) -> None:
        self._beacon.write(EVENT)
        deadline = time.monotonic() + 4 * self._period_s + 30
        while self._beacon.head() != self._beacon.tail():
            assert time.monotonic() < deadline, "the beacon was not truncated"
            time.sleep(self._period_s / 100)
        time.sleep(self._period_s / 12)  # the other streams of this period


def main() -> int:
    """Run on a real Pravega and compare."""
    try:
        with (
            RealPravega(settings={"controller.retention.frequency.minutes": 1}) as uri,
            connect(uri) as client,
        ):
            found = Rounds(client, 60).run()
    except NoRealPravegaError as error:
        print(f"NOT TRIED ON A REAL PRAVEGA: {error}", file=sys.stderr)
        return 1
    for name, heads in found.items():
        print(f"    {name!r}: {heads!r},", "" if heads == HEADS.get(name) else "  # DIFFERS")
    return 0 if found == HEADS else 1


if __name__ == "__main__":
    sys.exit(main())
