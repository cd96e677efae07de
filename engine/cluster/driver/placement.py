"""Which worker a subtask runs in, and what a worker receives when it is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pravega_lab.errors import BadInputError

from ...flow.elements import SubtaskId
from ...flow.files import Files, MemoryFiles
from ...flow.graph.graph import JobGraph, JobVertex
from ...flow.master.config import JobConfig


def worker_of(vertex: JobVertex, subtask: SubtaskId, workers: int) -> int:
    """Return the worker of a subtask. Subtasks of equal position share a worker, as they share Flink's slots.

    Pointwise edges therefore stay within a worker.
    """
    return subtask.index * min(workers, vertex.parallelism) // vertex.parallelism


def default_workers(graph: JobGraph, slots: int) -> int:
    """Return the number of subtasks of the widest vertex, but at most ``slots`` and at least 1."""
    return max(1, min(slots, max(vertex.parallelism for vertex in graph.vertices)))


@dataclass(frozen=True)
class WorkerSpec:
    """A specification is everything that a worker receives at its start. The launcher pickles it.

    ``token`` authenticates it to the driver and to other workers. ``epoch`` counts how often workers were
    started for this job. ``folder`` is the working folder of the driver when the job was created, so that
    relative paths mean the same; it is empty if that folder was deleted. ``work`` is a `JobSpec`, encoded by
    `graphs.packed`.
    """

    host: str
    port: int
    token: bytes
    epoch: int
    workers: int
    folder: str
    work: bytes


@dataclass(frozen=True)
class JobSpec:
    """A specification says what all workers run.

    ``is_watched`` says whether the driver wants observations.
    """

    graph: JobGraph
    config: JobConfig
    files: Files
    shared_folder: str
    is_watched: bool


def check_files(config: JobConfig, files: Files) -> None:
    """Check that all processes can access the checkpoints.

    Raises:
        BadInputError: checkpoints would be in the memory of one process.
    """
    folders: Mapping[str, Any] = {"folder": config.folder, "savepoint_folder": config.savepoint_folder}
    for name, folder in folders.items():
        if isinstance(files, MemoryFiles) or str(folder).startswith("memory://"):
            raise BadInputError(
                f"checkpoints in memory ({name}={folder!r}) are visible to one process only, but subtasks "
                "run in others: pass a folder that all of them can access"
            )
