"""What tutorial 15 runs: a second program in a process of its own, which does one thing at a time.

``python -m pravega_lab.tutorials.shared_state URI`` is that program. It reads commands, a line of JSON each,
and answers each with a line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from pravega_lab.client import NOT_EXISTS, Client, JsonFormat, Put, Whole, connect
from pravega_lab.errors import ConditionFailedError


def take_gate(gates: dict[str, str], update: Mapping[str, str]) -> None:
    """Apply an update: a gate is taken by an aircraft."""
    gates.update(update)


GATES = JsonFormat(take_gate)


def first_free(gates: Mapping[str, str], wanted: str = "A1 A2 A3") -> str | None:
    """Return the first gate that no aircraft has, None if all are taken."""
    return next((gate for gate in wanted.split() if gate not in gates), None)


class OtherProgram:
    """A second program, in a process of its own, that works with the same store.

    Args:
        client: Says which store that is. Its credentials pass by the environment of the process.
    """

    def __init__(self, client: Client) -> None:
        access = client._core._controller.access
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pravega_lab.tutorials.shared_state", client.uri],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **access.to_environment()},
        )

    def do(self, what: str, *args: Any) -> Any:
        """Have the program do one thing, and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([what, *args]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the other program ended with {self._process.wait()}; its error is above")
        return json.loads(line)

    def close(self) -> None:
        """End the program."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def __repr__(self) -> str:
        return "The other program"


class Deeds:
    """What the other program can do. Each method is a command."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kept: Any = None

    def read_plan(self, table: str) -> dict[str, str]:
        """Read the plan in a table and keep it."""
        found = self._client.table(table).get(b"plan")
        self._kept = json.loads(found.value) if found else {}
        kept: dict[str, str] = self._kept
        return kept

    def write_plan(self, table: str, aircraft: str) -> str | None:
        """Put an aircraft at the first free gate of the kept plan, and write the plan unconditionally."""
        gate = first_free(self._kept)
        if gate:
            self._client.table(table).put(b"plan", json.dumps({**self._kept, gate: aircraft}).encode())
        return gate

    def append(self, stream: str, text: str) -> None:
        """Append an entry to a log, wherever it ends."""
        log = self._client.revisioned_stream(stream)
        log.append(text.encode())
        log.close()

    def take(self, stream: str, aircraft: str) -> str | None:
        """Take the first free gate of a shared state."""
        shared = self._client.state_synchronizer(stream, GATES)
        shared.initialize(Whole({}))
        shared.fetch()

        def decide(gates: dict[str, str]) -> list[dict[str, str]]:
            gate = first_free(gates)
            return [{gate: aircraft}] if gate else []

        written = shared.update(decide)
        shared.close()
        return next(iter(written[0])) if written else None

    def seats(self, table: str, aircraft: str, wanted: list[str], passenger: str) -> bool:
        """Take several seats of an aircraft, all or none. Return whether they were free."""
        changes = [Put(seat.encode(), passenger.encode(), NOT_EXISTS) for seat in wanted]
        try:
            self._client.key_value_table(table).update(aircraft.encode(), changes)
        except ConditionFailedError:
            return False
        return True


def main() -> None:
    """Do what the lines of the standard input say."""
    with connect(sys.argv[1]) as client:
        deeds = Deeds(client)
        for line in sys.stdin:
            what, *args = json.loads(line)
            print(json.dumps(getattr(deeds, what)(*args)), flush=True)


if __name__ == "__main__":
    main()
