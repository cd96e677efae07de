"""How a job is run: checkpoints, restarts, channels, folders."""

from __future__ import annotations

from dataclasses import dataclass, field

from pravega_lab.engine.flow.coordinator import CheckpointConfig
from pravega_lab.engine.flow.history import Finishing, History
from pravega_lab.engine.flow.operator import RuntimeMode
from pravega_lab.engine.flow.restart import FixedDelay, NoRestart, RestartStrategy
from pravega_lab.errors import BadInputError


@dataclass(frozen=True)
class JobConfig:
    """``checkpoints`` None: there are none, and nothing survives a failure.

    ``folder``: where checkpoints go (a path or URL for fsspec; in memory a name). ``savepoint_folder``: the
    default of savepoints. ``channel_capacity``: records that a channel holds. ``sample_interval_ms``: how
    often `observer.Throughput` and `observer.ChannelContents` are told; None: never. ``restart`` None: as
    Flink, without end if there are checkpoints, else not at all.
    """

    checkpoints: CheckpointConfig | None = field(default_factory=CheckpointConfig)
    exactly_once: bool = True
    restart: RestartStrategy | None = None
    channel_capacity: int = 1024
    folder: str = "checkpoints"
    savepoint_folder: str | None = None
    allow_non_restored_state: bool = False
    claim: bool = False
    mode: RuntimeMode = RuntimeMode.STREAMING
    sample_interval_ms: int | None = None
    history: History = field(default_factory=History)

    def __post_init__(self) -> None:
        if self.channel_capacity < 1:
            raise BadInputError(f"channel_capacity={self.channel_capacity}: at least 1 record")
        config = self.checkpoints
        if config is not None and config.interval_ms is not None and config.interval_ms < 10:
            raise BadInputError(f"interval_ms={config.interval_ms}: checkpoints are at least 10 ms apart")

    @property
    def after_tasks_finish(self) -> bool:
        is_old = self.history.finishing is Finishing.BEFORE_FLIP_147
        return self.checkpoints is not None and self.checkpoints.after_tasks_finish and not is_old

    def fresh_restart(self) -> RestartStrategy:
        if self.restart is not None:
            return self.restart.fresh()
        return NoRestart() if self.checkpoints is None else FixedDelay(wait_ms=100)
