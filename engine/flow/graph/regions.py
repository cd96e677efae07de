"""Find groups of subtasks that something connects, such as those that fail over together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..elements import SubtaskId

Region = tuple[SubtaskId, ...]


def connected(subtasks: Sequence[SubtaskId], pairs: Iterable[tuple[SubtaskId, SubtaskId]]) -> list[Region]:
    """Return the groups of subtasks that the pairs connect, directly or through others.

    The groups, and the subtasks in each, keep the order of ``subtasks``.
    """
    parents = {subtask: subtask for subtask in subtasks}

    def root(subtask: SubtaskId) -> SubtaskId:
        while parents[subtask] != subtask:
            parents[subtask] = subtask = parents[parents[subtask]]
        return subtask

    for one, other in pairs:
        parents[root(one)] = root(other)
    groups: dict[SubtaskId, list[SubtaskId]] = {}
    for subtask in subtasks:
        groups.setdefault(root(subtask), []).append(subtask)
    return [tuple(group) for group in groups.values()]
