"""How a job runs: checkpoints, restarts, channels, folders."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from os import PathLike

from pravega_lab.errors import BadInputError

from ..checkpoint.coordinator import CheckpointConfig
from ..checkpoint.history import EndRules, History, end_rules
from ..files import Folder
from ..operators.operator import RuntimeMode
from .restart import FixedDelay, NoRestart, RestartStrategy

#: The least values of a `CheckpointConfig` with which a job works.
_LEAST = {"timeout_ms": 1, "min_pause_ms": 0, "max_concurrent": 1, "tolerable_failures": 0, "retain": 1}


@dataclass(frozen=True)
class JobConfig:
    """The settings of one job.

    ``checkpoints`` None: the job takes none, and nothing survives a failure. ``restart`` None: restart
    without end if there are checkpoints, else not at all, as Flink does. ``channel_capacity``: how many
    records a channel holds. ``folder``: where checkpoints are written (a path, a URL for fsspec, or any name
    in memory). ``savepoint_folder``: where savepoints without a folder are written. ``sample_interval_ms``:
    how often the observer gets throughput and channel contents; None: never. ``exactly_once``: barriers are
    aligned; False: at least once. ``allow_non_restored_state``: state of operators that the job does not have
    is dropped. ``claim``: the job owns the checkpoint or savepoint that it restores, and deletes its folder
    when newer checkpoints no longer refer to it. ``mode``: for batch execution call `run_batch`. ``history``:
    earlier behaviour of Flink.

    Raises:
        BadInputError: a setting has another type, ``channel_capacity`` is below 1, or a number of
            ``checkpoints`` is below its minimum.
    """

    checkpoints: CheckpointConfig | None = field(default_factory=CheckpointConfig)
    exactly_once: bool = True
    restart: RestartStrategy | None = None
    channel_capacity: int = 1024
    folder: Folder = "checkpoints"
    savepoint_folder: Folder | None = None
    allow_non_restored_state: bool = False
    claim: bool = False
    mode: RuntimeMode = RuntimeMode.STREAMING
    sample_interval_ms: int | None = None
    history: History = field(default_factory=History)

    def __post_init__(self) -> None:
        check_number("channel_capacity", self.channel_capacity)
        if self.sample_interval_ms is not None:
            check_number("sample_interval_ms", self.sample_interval_ms)
        for name, folder in {"folder": self.folder, "savepoint_folder": self.savepoint_folder}.items():
            is_absent = name == "savepoint_folder" and folder is None
            if not is_absent and not isinstance(folder, (str, PathLike)):
                raise BadInputError(f"{name}={folder!r}: give a path, or a URL for fsspec")
        if self.channel_capacity < 1:
            raise BadInputError(f"channel_capacity={self.channel_capacity}: it must be at least 1 record")
        if self.restart is not None and not isinstance(self.restart, RestartStrategy):
            raise BadInputError(
                f"restart={self.restart!r}: give a restart strategy, FixedDelay(attempts=3) for example"
            )
        config = self.checkpoints
        if config is not None and not isinstance(config, CheckpointConfig):
            raise BadInputError(
                f"checkpoints={config!r}: give a CheckpointConfig(interval_ms=1000) for example, or None; "
                "the folder is another argument, folder="
            )
        if config is None:
            return
        if config.interval_ms is not None:
            check_number("interval_ms", config.interval_ms)
        if config.interval_ms is not None and config.interval_ms < 10:
            raise BadInputError(f"interval_ms={config.interval_ms}: it must be at least 10 ms")
        for name, least in _LEAST.items():
            check_number(name, getattr(config, name))
            if getattr(config, name) < least:
                raise BadInputError(f"{name}={getattr(config, name)}: it must be at least {least}")

    @property
    def after_tasks_finish(self) -> bool:
        """Return whether checkpoints continue after some tasks have finished."""
        is_wanted = self.checkpoints is not None and self.checkpoints.after_tasks_finish
        return is_wanted and self.end_rules.checkpoints_after_finish

    @cached_property
    def end_rules(self) -> EndRules:
        """Return what follows from ``history`` for subtasks, chosen once."""
        return end_rules(self.history)

    def fresh_restart(self) -> RestartStrategy:
        """Return the restart strategy for a new job, with nothing counted yet."""
        if self.restart is not None:
            return self.restart.fresh()
        return NoRestart() if self.checkpoints is None else FixedDelay(wait_ms=100)


def check_number(name: str, value: object) -> None:
    """Raise `BadInputError` for a setting that is no number, or for a number of things that is not whole.

    A time in ms need not be whole.
    """
    is_time = name.endswith("_ms")
    if isinstance(value, bool) or not isinstance(value, Real if is_time else Integral):
        raise BadInputError(f"{name}={value!r}: give a {'number of ms' if is_time else 'whole number'}")


def check_config(config: object) -> None:
    """Raise `BadInputError` for what is no configuration of a job, such as a folder."""
    if not isinstance(config, JobConfig):
        raise BadInputError(f"a job takes a JobConfig, not a {type(config).__name__}: {config!r}")
