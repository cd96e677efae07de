"""``_metadata``: what a checkpoint or savepoint holds, as JSON that a person can read.

Paths in it are relative to its folder, so that a savepoint can be moved. A checksum over the rest tells a
damaged one; the first field tells a foreign one. ``pravega-lab savepoint inspect DIR`` prints it.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from pravega_lab.engine.flow.elements import CheckpointKind
from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.engine.flow.files import Files, join, relative
from pravega_lab.engine.flow.handles import (
    Blob,
    CompletedCheckpoint,
    ListMode,
    ListState,
    MasterState,
    OperatorState,
    SubtaskState,
)
from pravega_lab.engine.flow.storage import METADATA

FORMAT = "pravega-lab job checkpoint"
VERSION = 1


def encode(checkpoint: CompletedCheckpoint) -> bytes:
    """The content of ``_metadata``."""
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
    """
    Raises:
        DamagedCheckpointError: not of this engine, of another version, or changed since it was written.
    """
    where = join(folder, METADATA)
    try:
        body = json.loads(data)
        is_ours = body["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        is_ours, body = False, {}
    if not is_ours:
        raise DamagedCheckpointError(
            f"{where} is not the metadata of a checkpoint of this engine (it begins with {data[:40]!r}); "
            "name the folder of a checkpoint or savepoint that pravega-lab has written"
        )
    if body.get("version") != VERSION:
        raise DamagedCheckpointError(
            f"{where} has version {body.get('version')}; this engine reads version {VERSION}"
        )
    crc = body.pop("crc32", None)
    if crc != _crc(body):
        raise DamagedCheckpointError(
            f"{where} is damaged: its checksum is {_crc(body)}, written was {crc}; take another checkpoint"
        )
    checkpoint = CompletedCheckpoint(
        body["checkpoint"], CheckpointKind(body["kind"]), body["job"], body["timestamp_ms"], folder
    )
    for entry in body["operators"]:
        checkpoint.operators[entry["id"]] = _read_operator(entry, folder)
    for hook in body["master_hooks"]:
        state = MasterState(hook["hook"], hook["version"], base64.b64decode(hook["data"]))
        checkpoint.master[state.hook] = state
    return checkpoint


async def load(files: Files, folder: str) -> CompletedCheckpoint:
    """The checkpoint of a folder.

    Raises:
        DamagedCheckpointError: there is none, or it is damaged or foreign.
    """
    try:
        data = await files.read(join(folder, METADATA))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        found = ", ".join((await files.names(folder))[:5]) or "nothing"
        raise DamagedCheckpointError(
            f"{folder} has no {METADATA} (it has {found}): name the folder of one checkpoint or savepoint, "
            "chk-7 for example"
        ) from error
    return decode(data, folder)


def _operator(state: OperatorState, folder: str) -> dict[str, Any]:
    subtasks: dict[str, Any] = {str(index): "finished" for index in sorted(state.finished)}
    for index, subtask in sorted(state.subtasks.items()):
        subtasks[str(index)] = {
            "bytes": subtask.size_bytes,
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


def _read_operator(entry: dict[str, Any], folder: str) -> OperatorState:
    state = OperatorState(
        entry["id"], entry["name"], entry["task"], entry["parallelism"], entry["max_parallelism"]
    )
    state.is_fully_finished = entry["finished"] == "fully finished"
    if entry["coordinator"] is not None:
        state.coordinator = base64.b64decode(entry["coordinator"])
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
        )
    return state


def _blob(blob: Blob, folder: str) -> list[Any]:
    return [relative(blob.path, folder), blob.offset, blob.length, blob.crc]


def _read_blob(entry: list[Any], folder: str) -> Blob:
    path, offset, length, crc = entry
    return Blob(join(folder, path), offset, length, crc)


def _crc(body: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
