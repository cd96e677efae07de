"""Distribute the state of a checkpoint to the subtasks of a job, which may have another parallelism.

Keyed state follows its key groups. Split lists are cut into contiguous pieces; with equal parallelism, each
subtask keeps its own, also if others had finished. Every subtask gets the whole of a union list, and one copy
of a broadcast state. Copies should be equal, and are dealt out in turn. Source: Flink's
`StateAssignmentOperation`, `RoundRobinOperatorStateRepartitioner`.
"""

from __future__ import annotations

from ..errors import RestoreError
from .handles import Blob, ListMode, ListState, OperatorState, SubtaskState
from .keys import key_group_range


def redistribute(state: OperatorState, parallelism: int, max_parallelism: int) -> list[SubtaskState]:
    """Return the state that each subtask of the new parallelism restores, by index.

    Raises:
        RestoreError: the checkpoint has another number of key groups.
    """
    has_keyed = any(subtask.keyed for subtask in state.subtasks.values())
    if has_keyed and state.max_parallelism != max_parallelism:
        raise RestoreError(
            f"{state.name}: the checkpoint has {state.max_parallelism} key groups, the job "
            f"{max_parallelism}: "
            f"set max_parallelism={state.max_parallelism}; it cannot be changed where there is keyed state"
        )
    keyed: dict[int, Blob] = {}
    for subtask in state.subtasks.values():
        keyed.update(subtask.keyed)
    kinds = {name: kind for subtask in state.subtasks.values() for name, kind in subtask.kinds.items()}
    lists = _lists(state, parallelism)
    return [
        SubtaskState(
            {
                group: keyed[group]
                for group in key_group_range(max_parallelism, parallelism, index)
                if group in keyed
            },
            lists[index],
            kinds,
        )
        for index in range(parallelism)
    ]


def _lists(state: OperatorState, parallelism: int) -> list[dict[str, ListState]]:
    given: list[dict[str, ListState]] = [{} for _ in range(parallelism)]
    names: dict[str, ListMode] = {}
    for subtask in state.subtasks.values():
        names.update({name: lists.mode for name, lists in subtask.lists.items()})
    for name, mode in names.items():
        holders = {i: s.lists[name] for i, s in sorted(state.subtasks.items()) if name in s.lists}
        for index, elements in enumerate(_shares(holders, mode, state.parallelism, parallelism)):
            if elements is not None:
                given[index][name] = ListState(mode, elements)
    return given


def _shares(
    holders: dict[int, ListState], mode: ListMode, old: int, new: int
) -> list[tuple[Blob, ...] | None]:
    everything = tuple(blob for lists in holders.values() for blob in lists.elements)
    if mode is ListMode.UNION:
        return [everything] * new
    if mode is ListMode.BROADCAST:
        # With equal parallelism, each subtask keeps its own copy. One that had finished has none: it gets one
        # of the others' copies in turn, as every subtask does with another parallelism.
        copies = [lists.elements for lists in holders.values()]
        keeps = holders if old == new else {}
        return [keeps[i].elements if i in keeps else copies[i % len(copies)] for i in range(new)]
    if old == new:
        return [holders[i].elements if i in holders else None for i in range(new)]
    share, rest = divmod(len(everything), new)
    shares: list[tuple[Blob, ...] | None] = []
    at = 0
    for index in range(new):
        size = share + (index < rest)
        shares.append(everything[at : at + size])
        at += size
    return shares
