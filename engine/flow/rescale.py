"""State of a checkpoint to the subtasks of a job, also of another parallelism.

Keyed state goes by key group, split lists in contiguous pieces (with equal parallelism each subtask keeps its
own, also if others had finished), union lists to everyone, broadcast state as one copy to everyone (copies
should be equal; they are dealt out in turn).
Source: Flink's `StateAssignmentOperation`, `RoundRobinOperatorStateRepartitioner`.
"""

from __future__ import annotations

from pravega_lab.engine.flow.errors import RestoreError
from pravega_lab.engine.flow.handles import Blob, ListMode, ListState, OperatorState, SubtaskState
from pravega_lab.engine.flow.keys import key_group_range


def redistribute(state: OperatorState, parallelism: int, max_parallelism: int) -> list[SubtaskState]:
    """What each subtask of the new parallelism restores.

    Raises:
        RestoreError: the number of key groups is another one.
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
    lists = _lists(state, parallelism)
    return [
        SubtaskState(
            {
                group: keyed[group]
                for group in key_group_range(max_parallelism, parallelism, index)
                if group in keyed
            },
            lists[index],
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
        # With equal parallelism each keeps its own, but who had finished has none: then, and with another
        # parallelism, the copies are dealt out in turn.
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
