"""Implement ``pravega-lab savepoint inspect DIR``: print what a checkpoint stores, and check every byte."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator

from pravega_lab.errors import BadInputError, PravegaError

from ..files import FsspecFiles
from ..state.handles import OperatorState
from . import metadata
from .handles import CompletedCheckpoint
from .storage import BlobReader


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument(
        "action", choices=("inspect",), help="inspect: say what it holds and check every byte"
    )
    parser.add_argument(
        "folder", metavar="DIR", help="the folder with _metadata; a path, or a URL for fsspec"
    )


def run(args: argparse.Namespace) -> int:
    """Print the checkpoint; return 0 if every byte of it is there and unchanged.

    Raises:
        DamagedCheckpointError: it is damaged, or was not written by this engine.
        BadInputError: the file system of the folder does not exist, or fails.
    """
    checkpoint = asyncio.run(_load_and_check(args.folder))
    print("\n".join(describe(checkpoint)))
    print(f"whole: {len(checkpoint.files)} files, every checksum right")
    return 0


async def _load_and_check(folder: str) -> CompletedCheckpoint:
    files = FsspecFiles()
    try:
        checkpoint = await metadata.load(files, folder)
    except (PravegaError, ModuleNotFoundError):
        raise
    except Exception as error:  # each file system raises errors of its own
        raise BadInputError(
            f"{folder!r} cannot be read ({type(error).__name__}: {error}). Give a path, or a URL of a file"
            " system that fsspec knows, that answers, and that takes the credentials of this user."
        ) from error
    reader = BlobReader(files)
    for blob in checkpoint.blobs():
        await reader.read(blob)
    return checkpoint


def describe(checkpoint: CompletedCheckpoint) -> Iterator[str]:
    """Yield lines that describe the checkpoint, then each operator, then the master hooks."""
    yield (
        f"{checkpoint.kind.value} {checkpoint.checkpoint_id} of job {checkpoint.job!r}, "
        f"{checkpoint.size_bytes} bytes of state in {checkpoint.path}"
    )
    for operator in checkpoint.operators.values():
        yield from _describe_operator(operator)
    for state in checkpoint.master.values():
        yield f"master hook {state.hook}: {len(state.data)} bytes, version {state.version}"


def _describe_operator(operator: OperatorState) -> Iterator[str]:
    yield (
        f"{operator.name} ({operator.operator_id}) in {operator.vertex}: {operator.finish_state}, "
        f"parallelism {operator.parallelism} of {operator.max_parallelism}"
    )
    if operator.coordinator is not None:
        yield f"  coordinator: {len(operator.coordinator)} bytes"
    for index in sorted({*operator.subtasks, *operator.finished}):
        if index in operator.finished:
            yield f"  subtask {index + 1}: finished"
            continue
        state = operator.subtasks[index]
        kinds = [f"{len(state.keyed)} key groups"] if state.keyed else []
        kinds += [f"{name} ({kind})" for name, kind in state.kinds.items()]
        kinds += [f"{name} ({s.mode.value}, {len(s.elements)})" for name, s in state.lists.items()]
        yield f"  subtask {index + 1}: {state.size_bytes} bytes; {', '.join(kinds) or 'no state'}"
