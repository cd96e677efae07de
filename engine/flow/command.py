"""``pravega-lab savepoint inspect DIR``: what a checkpoint or savepoint holds, and whether it is whole."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator

from pravega_lab.engine.flow import metadata
from pravega_lab.engine.flow.files import FsspecFiles
from pravega_lab.engine.flow.handles import CompletedCheckpoint, OperatorState
from pravega_lab.engine.flow.storage import BlobReader


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words of the command."""
    parser.add_argument(
        "action", choices=("inspect",), help="inspect: say what it holds and check every byte"
    )
    parser.add_argument(
        "folder", metavar="DIR", help="the folder with _metadata; a path, or a URL for fsspec"
    )


def run(args: argparse.Namespace) -> int:
    """Print it; 0 if it is whole.

    Raises:
        DamagedCheckpointError: it is damaged, or of somebody else.
    """
    checkpoint = asyncio.run(_load_and_check(args.folder))
    print("\n".join(describe(checkpoint)))
    print(f"whole: {len(checkpoint.files)} files, every checksum right")
    return 0


async def _load_and_check(folder: str) -> CompletedCheckpoint:
    files = FsspecFiles()
    checkpoint = await metadata.load(files, folder)
    reader = BlobReader(files)
    for blob in checkpoint.blobs():
        await reader.read(blob)
    return checkpoint


def describe(checkpoint: CompletedCheckpoint) -> Iterator[str]:
    """In lines: the checkpoint, then each operator, then master hooks."""
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
        kinds += [f"{name} ({s.mode.value}, {len(s.elements)})" for name, s in state.lists.items()]
        yield f"  subtask {index + 1}: {state.size_bytes} bytes; {', '.join(kinds) or 'no state'}"
