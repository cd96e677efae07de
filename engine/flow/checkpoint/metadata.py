"""Encode and decode ``_metadata``: what a checkpoint or savepoint stores, as JSON that a person can read.

Paths are relative to the folder of the file, so that a savepoint can be moved. Files in another file system
have a URL. The first field reveals a file of another program, and a checksum over the rest reveals a damaged
one. ``pravega-lab savepoint inspect DIR`` prints it.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from ..elements import CheckpointKind
from ..errors import DamagedCheckpointError
from ..files import Files, join, relative
from ..state.handles import Blob, ListMode, ListState, OperatorState, SubtaskState
from .handles import CompletedCheckpoint, MasterState
from .storage import METADATA

FORMAT = "pravega-lab job checkpoint"
VERSION = 1
_HEAD = f'{{\n "format": "{FORMAT}"'.encode()
"""The first bytes of every ``_metadata`` of this engine."""


def encode(checkpoint: CompletedCheckpoint) -> bytes:
    """Return the content of ``_metadata``."""
    body = {
        "format": FORMAT,
        "version": VERSION,
        "checkpoint": checkpoint.checkpoint_id,
        "kind": checkpoint.kind.value,
        "job": checkpoint.job,
        "timestamp_ms": checkpoint.timestamp_ms,
        "state_bytes": checkpoint.size_bytes,
        "operators": [_operator(o, checkpoint.path) for o in checkpoint.operators.values()],
        "master_hooks": [
            {"hook": m.hook, "version": m.version, "data": _b64(m.data)} for m in checkpoint.master.values()
        ],
    }
    return json.dumps({**body, "crc32": _crc(body)}, indent=1).encode() + b"\n"


def decode(data: bytes, folder: str) -> CompletedCheckpoint:
    """Return the checkpoint whose ``_metadata`` in ``folder`` has the content ``data``.

    Raises:
        DamagedCheckpointError: another program or another version wrote it, or it has changed since.
    """
    where = join(folder, METADATA)
    try:
        body = json.loads(data)
        is_ours = body["format"] == FORMAT
    except (ValueError, KeyError, TypeError, RecursionError):
        is_ours, body = False, {}
    if not is_ours and data[: len(_HEAD)] == _HEAD[: len(data)]:
        raise DamagedCheckpointError(
            f"{where} is damaged: its {len(data)} bytes are not one whole JSON object, as if it were cut or"
            " something had been added; take another checkpoint"
        )
    if not is_ours:
        raise DamagedCheckpointError(
            f"{where} is not the metadata of a checkpoint of this engine (it begins with {data[:40]!r}); "
            "name the folder of a checkpoint or savepoint that pravega-lab has written"
        )
    if body.get("version") != VERSION:
        raise DamagedCheckpointError(
            f"{where} has version {body.get('version')!r:.40}; this engine reads version {VERSION}"
        )
    crc, found = body.pop("crc32", None), _crc(body)
    if crc != found:
        raise DamagedCheckpointError(
            f"{where} is damaged: its checksum is {found}, written was {crc!r:.40}; take another checkpoint"
        )
    try:
        return _read_checkpoint(body, folder)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedCheckpointError(
            f"{where} has the right checksum, but not the right shape ({type(error).__name__}: {error}); "
            "take another checkpoint"
        ) from error


async def load(files: Files, folder: str) -> CompletedCheckpoint:
    """Read the checkpoint of a folder.

    Raises:
        DamagedCheckpointError: the folder has no metadata, or it is damaged or of another program.
    """
    folder = join(folder)
    try:
        data = await files.read(join(folder, METADATA))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        found = ", ".join((await files.names(folder))[:5])
        nothing = "is a file" if isinstance(error, NotADirectoryError) else "does not exist, or is empty"
        said = f"has no {METADATA} (it has {found})" if found else nothing
        raise DamagedCheckpointError(
            f"{folder} {said}: name the folder of one checkpoint or savepoint, chk-7 for example"
        ) from error
    return decode(data, folder)


def _operator(state: OperatorState, folder: str) -> dict[str, Any]:
    subtasks: dict[str, Any] = {str(index): "finished" for index in sorted(state.finished)}
    for index, subtask in sorted(state.subtasks.items()):
        subtasks[str(index)] = {
            "bytes": subtask.size_bytes,
            **({"kinds": dict(subtask.kinds)} if subtask.kinds else {}),
            "keyed": {str(group): _blob(blob, folder) for group, blob in subtask.keyed.items()},
            "lists": {
                name: {"mode": lists.mode.value, "elements": [_blob(b, folder) for b in lists.elements]}
                for name, lists in subtask.lists.items()
            },
        }
    return {
        "id": state.operator_id,
        "name": state.name,
        "task": state.vertex,
        "parallelism": state.parallelism,
        "max_parallelism": state.max_parallelism,
        "finished": state.finish_state,
        "coordinator": None if state.coordinator is None else _b64(state.coordinator),
        "subtasks": {index: subtasks[index] for index in sorted(subtasks, key=int)},
    }


def _read_checkpoint(body: dict[str, Any], folder: str) -> CompletedCheckpoint:
    checkpoint = CompletedCheckpoint(
        _number(body["checkpoint"]),
        CheckpointKind(body["kind"]),
        _text(body["job"]),
        _number(body["timestamp_ms"]),
        folder,
    )
    for entry in body["operators"]:
        checkpoint.operators[_text(entry["id"])] = _read_operator(entry, folder)
    for hook in body["master_hooks"]:
        state = MasterState(_text(hook["hook"]), _number(hook["version"]), _from_b64(hook["data"]))
        checkpoint.master[state.hook] = state
    return checkpoint


def _read_operator(entry: dict[str, Any], folder: str) -> OperatorState:
    state = OperatorState(
        _text(entry["id"]),
        _text(entry["name"]),
        _text(entry["task"]),
        _number(entry["parallelism"]),
        _number(entry["max_parallelism"]),
    )
    state.is_fully_finished = entry["finished"] == "fully finished"
    if entry["coordinator"] is not None:
        state.coordinator = _from_b64(entry["coordinator"])
    for index, subtask in entry["subtasks"].items():
        if subtask == "finished":
            state.finished.add(int(index))
            continue
        state.subtasks[int(index)] = SubtaskState(
            {int(group): _read_blob(blob, folder) for group, blob in subtask["keyed"].items()},
            {
                name: ListState(
                    ListMode(lists["mode"]), tuple(_read_blob(b, folder) for b in lists["elements"])
                )
                for name, lists in subtask["lists"].items()
            },
            {_text(name): _text(kind) for name, kind in subtask.get("kinds", {}).items()},
        )
    return state


def _blob(blob: Blob, folder: str) -> list[Any]:
    return [relative(blob.path, folder), blob.offset, blob.length, blob.crc]


def _read_blob(entry: list[Any], folder: str) -> Blob:
    path, offset, length, crc = entry
    at = _text(path) if "://" in _text(path) else join(folder, path)
    return Blob(at, _number(offset), _number(length), _number(crc))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r:.40} is no whole number from 0")
    return value


def _crc(body: dict[str, Any]) -> int | None:
    try:
        return zlib.crc32(json.dumps(body, sort_keys=True).encode())
    except RecursionError:  # the engine writes nothing that is nested as deep
        return None


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _from_b64(text: str) -> bytes:
    return base64.b64decode(_text(text), validate=True)
