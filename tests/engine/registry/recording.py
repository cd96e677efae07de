"""The exchanges that were recorded from the released registry 0.6.0, in `golden/registry-golden.txt`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pravega_lab.engine.registry.requests import Answer, Request

GOLDEN = Path(__file__).parent / "golden" / "registry-golden.txt"
_HEAD = re.compile(r"^## (P?\d+)\. (.*)$", re.MULTILINE)


@dataclass
class Exchange:
    """A request, and how the released server answered. Status 0: not at all."""

    number: str
    name: str
    request: Request
    status: int
    body: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        """The reply's JSON, or None."""
        return json.loads(self.body) if self.body[:1] == "{" else None


def exchanges() -> list[Exchange]:
    """All exchanges of parts 1 and 2, in their order. Those of part 2 have numbers such as ``P31``."""
    text = GOLDEN.read_text().partition("======== PART 3")[0]
    pieces = _HEAD.split(text)[1:]
    return [_exchange(*pieces[at : at + 3]) for at in range(0, len(pieces), 3)]


def _exchange(number: str, name: str, text: str) -> Exchange:
    text = text.partition("\n########")[0].partition("\n## P+.")[0]
    sent, _, replied = text.strip("\n").partition("\n< ")
    lines = [line.removeprefix("> ") for line in sent.splitlines()]
    method, _, target = lines[0].partition(" ")
    headers = dict(line.split(": ", 1) for line in lines[1:] if re.match(r"[A-Z][\w-]+: ", line))
    body = next((line for line in lines[1:] if not re.match(r"[A-Z][\w-]+: ", line)), "")
    url = urlsplit(target)
    request = Request(
        *(method, url.path, dict(parse_qsl(url.query)), body.encode()),
        headers.get("Content-Type", "application/json" if body else ""),
        headers.get("Accept", ""),
    )
    head, _, reply = replied.partition("\n< ")
    found = re.match(r"(\d+) .*?\[(.*)\]$", head)
    if found is None:
        return Exchange(number, name, request, 0, "")
    kept = dict(part.split(": ", 1) for part in found[2].split("; ") if ": " in part)
    return Exchange(number, name, request, int(found[1]), "" if reply == "(empty body)" else reply, kept)


def comparable(status: int, body: str, headers: dict[str, str] | None = None) -> Any:
    """A reply without what may differ: times, tokens, the order of members and of the lists of schemas."""
    if body[:1] != "{":
        return status, body, (headers or {}).get("Allow", "")
    found = json.loads(body)
    found.pop("continuationToken", None)
    for record in found.get("history", []):
        record.pop("timestamp")
    return status, json.dumps(found, sort_keys=True), ""


def answered(answer: Answer) -> Any:
    """An answer of ours in the same form."""
    return comparable(answer.status, answer.body.decode(), {"Allow": answer.allow})
