"""The master hooks of a job: triggered with each checkpoint, restored with the job, closed at its end.

Source: Flink's `MasterHooks` (flink.md 4); FLINK-20222 and FLINK-21178 for `reset`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ..calling import call
from ..checkpoint.handles import CompletedCheckpoint, MasterState
from ..closing import close_in_time
from ..errors import IllegalStateError, RestoreError
from ..graph.graph import JobGraph, hook_ids
from ..source.master_hook import MasterHook


class MasterHooks(Mapping[str, MasterHook]):
    """The hooks by identifier, in the order of the graph; of two with one identifier the first counts.

    ``allow_non_restored_state``: a restore drops state that no hook claims, instead of refusing it.
    ``reset_in_regions``: regional recovery without a checkpoint resets the hooks too.
    """

    def __init__(self, graph: JobGraph, *, allow_non_restored_state: bool, reset_in_regions: bool) -> None:
        self._job = graph.name
        self._allow_non_restored_state = allow_non_restored_state
        self._reset_in_regions = reset_in_regions
        hooks: dict[str, MasterHook] = {}
        for _, operator in graph.operators():
            make = operator.node.make_hook
            if make is not None and (hook := make()) is not None:
                hooks[operator.operator_id] = hook
        self._by_id: dict[str, MasterHook] = {}
        self._operators: dict[str, list[str]] = {}  # by identifier: ids of its operators
        for operator_id, identifier in zip(hooks, hook_ids(list(hooks.values())), strict=True):
            self._by_id.setdefault(identifier, hooks[operator_id])
            self._operators.setdefault(identifier, []).append(operator_id)

    def __getitem__(self, identifier: str) -> MasterHook:
        return self._by_id[identifier]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    async def restore(
        self,
        checkpoint: CompletedCheckpoint | None,
        *,
        finished: Collection[str] = (),
        is_global: bool = True,
    ) -> None:
        """Restore the hooks that have state in ``checkpoint``, then the others with None.

        Without a checkpoint the hooks are reset. A checkpoint without any hook's state restores none. A hook
        whose operators are all among ``finished``, the ids of operators that had finished, is not restored,
        and is replaced by one that does nothing.

        Raises:
            RestoreError: the checkpoint has state of a hook that the job does not have.
        """
        if checkpoint is None:
            if is_global or self._reset_in_regions:
                for hook in self._by_id.values():
                    await call(hook.reset)
            return
        await self._retire(finished)
        if not checkpoint.master or not self._by_id:
            return
        read = self._read(checkpoint)  # all of it before the first hook is called
        for name, value in read.items():
            await call(self._by_id[name].restore_checkpoint, checkpoint.checkpoint_id, value)
        for name, hook in self._by_id.items():
            if name not in read:
                await call(hook.restore_checkpoint, checkpoint.checkpoint_id, None)

    async def _retire(self, finished: Collection[str]) -> None:
        for identifier, operators in self._operators.items():
            if all(operator_id in finished for operator_id in operators):
                old, self._by_id[identifier] = self._by_id[identifier], _FinishedHook(identifier)
                await _close(old)

    def _read(self, checkpoint: CompletedCheckpoint) -> dict[str, Any]:
        unknown = [name for name in checkpoint.master if name not in self._by_id]
        if unknown and not self._allow_non_restored_state:
            raise RestoreError(
                f"checkpoint {checkpoint.checkpoint_id} has state of master hook {unknown[0]!r}, which job "
                f"{self._job!r} does not have; drop it with allow_non_restored_state=True"
            )
        read = {}
        for name, state in checkpoint.master.items():
            serializer = self._by_id[name].serializer() if name in self._by_id else None
            if serializer is not None:
                read[name] = serializer.from_bytes(state.version, state.data)
        return read

    async def close(self) -> None:
        """Close every hook. What they raise is logged: the job is over."""
        for hook in self._by_id.values():
            await _close(hook)


class _FinishedHook(MasterHook):
    """The hook of a source that had finished in the restored checkpoint: nothing is left to read."""

    def __init__(self, identifier: str) -> None:
        self._identifier = identifier

    @property
    def identifier(self) -> str:
        return self._identifier

    def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int) -> None:
        """Acknowledge without state."""
        return


def encode_state(hook: MasterHook, value: Any) -> MasterState:
    """Return the state that ``hook`` gave at a checkpoint, serialized.

    Raises:
        IllegalStateError: the hook has no serializer.
    """
    serializer = hook.serializer()
    if serializer is None:
        raise IllegalStateError(
            f"master hook {hook.identifier!r} returned state ({value!r:.40}), but has no serializer; "
            "return one from serializer(), or None from trigger_checkpoint()"
        )
    return MasterState(hook.identifier, serializer.version, serializer.to_bytes(value))


async def _close(hook: MasterHook) -> None:
    await close_in_time(hook.close, f"master hook {hook.identifier!r}")
