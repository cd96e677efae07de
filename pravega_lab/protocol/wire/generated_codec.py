"""Generates functions that encode and decode commands of numbers, texts and counted bytes.

``codec`` runs a plan step by step, and for small commands the steps themselves are the cost. A server and
its clients exchange thousands of these a second. For each such command the same steps are therefore written
out as one function, as ``dataclasses`` does for ``__init__``. Anything unusual (a short frame, a value that
does not fit) is left to the plan, which reports what is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from pravega_lab.protocol.java_text import text_from_bytes, text_to_bytes

_COUNT = {"utf": "H", "lp": "i"}


class Run(NamedTuple):
    """Fields of fixed size, then perhaps a counted field: "utf" or "lp"."""

    letters: str  # of ``struct``
    names: Sequence[str]
    uuids: Sequence[int]  # which of the names are UUIDs
    counted: str | None
    counted_name: str


def writer(code: int, runs: Sequence[Run], payload_bytes_max: int, plan: Callable[[Any], bytes]) -> Any:
    """Return ``encode(command)``, which returns the whole frame.

    It uses ``plan`` if a value does not fit its field.
    """
    scope: dict[str, Any] = {
        "plan": plan,
        "to_bytes": text_to_bytes,
        "join": b"".join,
        "errors": (struct.error, TypeError, AttributeError),
    }
    fixed, pieces, texts, lengths = 0, [], [], []
    for index, run in enumerate(runs):
        layout = struct.Struct(
            ">" + ("ii" if not index else "") + run.letters + _COUNT.get(run.counted or "", "")
        )
        scope[f"pack{index}"] = layout.pack
        fixed += layout.size
        values = [f"c.{name}.bytes" if i in run.uuids else f"c.{name}" for i, name in enumerate(run.names)]
        if not index:
            values[:0] = [str(code), "n"]
        if run.counted:
            field = f"c.{run.counted_name}"
            texts.append(f"t{index} = to_bytes({field})" if run.counted == "utf" else f"t{index} = {field}")
            lengths.append(f"len(t{index})")
            values.append(lengths[-1])
        pieces.append(f"pack{index}({', '.join(values)})")
        pieces += [f"t{index}"] if run.counted else []
    whole = pieces[0] if len(pieces) == 1 else f"join(({', '.join(pieces)}))"
    body = [
        "def encode(c):",
        "    try:",
        *(f"        {line}" for line in texts),
        f"        n = {' + '.join([str(fixed - 8), *lengths])}",
        f"        if n <= {payload_bytes_max}:",
        f"            return {whole}",
        "    except errors:",
        "        pass",
        "    return plan(c)",
    ]
    return _made(body, scope)


def reader(
    command: Any, runs: Sequence[Run], uuid_of: Callable[[bytes], UUID], plan: Callable[..., Any]
) -> Any:
    """Return ``decode(data, at, end)``, which returns a command.

    It uses ``plan`` if the frame is too short.
    """
    scope: dict[str, Any] = {"command": command, "plan": plan, "uuid_of": uuid_of, "to_text": text_from_bytes}
    body = ["def decode(data, start, end):", "    at = start"]
    arguments: list[str] = []
    for index, run in enumerate(runs):
        layout = struct.Struct(">" + run.letters + _COUNT.get(run.counted or "", ""))
        scope[f"unpack{index}"] = layout.unpack_from
        names = [f"v{len(arguments) + i}" for i in range(len(run.names))]
        body += [f"    to = at + {layout.size}", "    if to > end:", "        return plan(data, start, end)"]
        targets = [*names, *(["n"] if run.counted else [])]
        if targets:
            body.append(f"    {', '.join(targets)}, = unpack{index}(data, at)")
        arguments += [f"uuid_of({name})" if i in run.uuids else name for i, name in enumerate(names)]
        body.append("    at = to" if not run.counted else "    at = to + n")
        if run.counted:
            body += ["    if n < 0 or at > end:", "        return plan(data, start, end)"]
            piece = f"t{index} = data[to:at]"
            body.append(f"    {piece if run.counted == 'lp' else f't{index} = to_text(data[to:at])'}")
            arguments.append(f"t{index}")
    body.append(f"    return command({', '.join(arguments)})")
    return _made(body, scope)


def _made(body: Sequence[str], scope: dict[str, Any]) -> Any:
    exec("\n".join(body), scope)
    return scope[body[0].split()[1].split("(")[0]]
