"""Which worker a subtask runs in, and what a worker is told when it is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pravega_lab.engine.flow.config import JobConfig
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.files import Files, MemoryFiles
from pravega_lab.engine.flow.graph import JobGraph, JobVertex
from pravega_lab.errors import BadInputError


def worker_of(vertex: JobVertex, subtask: SubtaskId, workers: int) -> int:
    """Subtasks of equal place share a worker, as Flink's slots are shared: pointwise edges stay within it."""
    return subtask.index * min(workers, vertex.parallelism) // vertex.parallelism


def default_workers(graph: JobGraph, slots: int) -> int:
    """As many as the widest vertex has subtasks, as far as there are slots."""
    return max(1, min(slots, max(vertex.parallelism for vertex in graph.vertices)))


@dataclass(frozen=True)
class WorkerSpec:
    """Everything that a worker is given at its start; pickled by whoever starts it.

    ``token``: what it shows to the driver and to other workers. ``epoch`` counts how often workers were
    started for this job. ``folder``: the driver's working folder, so that relative paths mean the same.
    ``work``: a `JobSpec`, as `graphs.packed` made it.
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
    """What runs in every worker. ``is_watched``: somebody wants observations."""

    graph: JobGraph
    config: JobConfig
    files: Files
    shared_folder: str
    is_watched: bool


def check_files(config: JobConfig, files: Files) -> None:
    """
    Raises:
        BadInputError: checkpoints would lie in the memory of one process.
    """
    folders: Mapping[str, Any] = {"folder": config.folder, "savepoint_folder": config.savepoint_folder}
    for name, folder in folders.items():
        if isinstance(files, MemoryFiles) or str(folder).startswith("memory://"):
            raise BadInputError(
                f"checkpoints in memory ({name}={folder!r}) are seen by one process only, and subtasks run "
                "in others: give a folder that all of them reach"
            )
