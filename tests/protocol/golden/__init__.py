"""Bytes recorded from a real Pravega 0.13.0 and its clients, and how to read the files that hold them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
_FRAME = re.compile(r"([0-9a-f]+)(\.\.\.(?:\(\d+ bytes in all\))?)?$")
_MESSAGE = re.compile(r"  (REQ|RSP) (\w+) (\(empty\)|[0-9a-f]+)(?:   \(.*\))?$")
_EVENT = re.compile(r"@\d+ event len=(\d+) hex=([0-9a-f]+)$")


@dataclass(frozen=True)
class Frame:
    """A recorded frame; ``is_cut`` where the file holds only its beginning."""

    line: int
    name: str
    command: str
    data: bytes
    is_cut: bool

    def __str__(self) -> str:
        return f"line {self.line} {self.name} {self.command}"


def frames() -> list[Frame]:
    found = []
    for number, line in enumerate(_lines("wire"), 1):
        columns = line.split("\t")
        match = _FRAME.match(columns[-1])
        if line[:1] not in (" ", "#", "") and len(columns) >= 4 and match:
            data = bytes.fromhex(match[1])
            found.append(Frame(number, columns[0], columns[-2], data, match[2] is not None))
    return found


@dataclass(frozen=True)
class Exchange:
    """A call of the controller: message types and bytes; no response where the call failed."""

    name: str
    method: str
    request: tuple[str, bytes]
    response: tuple[str, bytes] | None
    texts: tuple[str, ...]  # both messages in protobuf's text form


def exchanges() -> list[Exchange]:
    lines = [line for line in _lines("controller") if not line.startswith("#")]
    return [_exchange(lines[at : at + 5]) for at in range(0, len(lines), 5)]


def _exchange(lines: list[str]) -> Exchange:
    name, method = lines[0].split("\t")
    request, response = _message(lines[1]), _message(lines[3])
    assert request is not None, lines
    return Exchange(name, method, request, response, (lines[2].strip()[1:-1], lines[4].strip()[1:-1]))


def _message(line: str) -> tuple[str, bytes] | None:
    match = _MESSAGE.match(line)
    if match is None:
        assert "gRPC-ERROR" in line, line
        return None
    return match[2], b"" if match[3] == "(empty)" else bytes.fromhex(match[3])


def state_events(segment: str) -> list[bytes]:
    """The payloads of the events of a segment whose name contains ``segment``."""
    found, wanted = [], False
    for line in _lines("rg-state"):
        if line.startswith("####"):
            wanted = segment in line
        match = _EVENT.match(line)
        if match and wanted:
            data = bytes.fromhex(match[2])
            assert int.from_bytes(data[4:8], "big") == int(match[1]) == len(data) - 8
            found.append(data[8:])
    return found


def java_updates() -> dict[str, bytes]:
    """One update of a reader group per type, by upstream's class name, from upstream's own serializer."""
    lines = (HERE / "reader-group-java.txt").read_text().splitlines()
    columns = (line.split("\t") for line in lines if not line.startswith("#"))
    return {name: bytes.fromhex(data) for name, data in columns}


def _lines(name: str) -> list[str]:
    return (HERE / f"{name}-golden.txt").read_text().splitlines()
