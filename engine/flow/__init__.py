"""A dataflow engine that is right about checkpoints, recovery and finishing, and that can be watched.

Programs import from here what they need. A job is built with `StreamEnvironment` and run by `run`, `execute`
or `Job`. The same code runs on an ordinary asyncio loop and under the virtual time of the simulation.
Importing this package imports and starts nothing: names are looked up when they are first used.
docs/engine.md describes its folders.

The folders have an order, and imports lead only downwards: the modules next to the folders (`errors`,
`batch`, `elements`, `files` and so on) are lowest, then come state, time, operators, source, sink, graph,
checkpoint, task and master. tests/project/test_tidy.py checks the order. User programs, the cluster,
connectors and the simulation import it. Code of this repository names the module that it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .batch import Batch, RowKind
    from .checkpoint.coordinator import CheckpointConfig
    from .checkpoint.history import EndRules, Finishing, History, LastPiece, Triggering, end_rules
    from .errors import (
        CheckpointFailedError,
        DamagedCheckpointError,
        IllegalStateError,
        InvalidJobGraphError,
        JobCancelledError,
        JobError,
        JobFailedError,
        LostTransactionError,
        PartialFinishingNotSupportedByStateError,
        Reason,
        RestoreError,
        SavepointError,
        StopWithSavepointStoppingError,
        StuckSubtaskError,
        UserFunctionError,
    )
    from .files import Files, FsspecFiles, GrowingFile, MemoryFiles
    from .graph.stream import (
        ConnectedStreams,
        DataStream,
        KeyedStream,
        StreamEnvironment,
        Table,
        WindowedStream,
        merged,
    )
    from .master.batch_mode import BatchRunner, run_batch
    from .master.config import JobConfig
    from .master.job import Job, execute, run
    from .master.restart import ExponentialDelay, FailureRate, FixedDelay, NoRestart, RestartStrategy
    from .operators.functions import (
        AggregateFunction,
        BroadcastProcessFunction,
        CoProcessFunction,
        FunctionContext,
        KeyedContext,
        KeyedProcessFunction,
        ProcessFunction,
        count,
        highest,
        mean,
        total,
    )
    from .operators.operator import Collector, Operator, OperatorContext, RuntimeMode
    from .operators.windows import SessionWindows, SlidingWindows, TumblingWindows
    from .sink.file_sink import TwoPhaseFileSink, committed_rows
    from .sink.sinks import (
        CommitOutcome,
        CommitRequest,
        Committer,
        GlobalCommitter,
        Sink,
        SinkContext,
        SinkWriter,
        TwoPhaseCommitSink,
    )
    from .source.collections import (
        AssignedSplits,
        RowsEnumerator,
        RowsReader,
        RowsSource,
        RowsSplit,
        SplitQueue,
        no_pause,
    )
    from .source.hybrid import HybridEnumerator, HybridSource, HybridState
    from .source.parquet import (
        Footer,
        ParquetEnumerator,
        ParquetFiles,
        ParquetReader,
        ParquetSource,
        ParquetSplit,
        splits_of,
    )
    from .source.sources import (
        Boundedness,
        InputStatus,
        ReaderContext,
        ReaderOutput,
        Serializer,
        Source,
        SourceReader,
        Split,
        SplitEnumerator,
        SplitEnumeratorContext,
    )
    from .time.watermarks import WatermarkStrategy

__all__ = [
    "AggregateFunction",
    "AssignedSplits",
    "Batch",
    "BatchRunner",
    "Boundedness",
    "BroadcastProcessFunction",
    "CheckpointConfig",
    "CheckpointFailedError",
    "CoProcessFunction",
    "Collector",
    "CommitOutcome",
    "CommitRequest",
    "Committer",
    "ConnectedStreams",
    "DamagedCheckpointError",
    "DataStream",
    "EndRules",
    "ExponentialDelay",
    "FailureRate",
    "Files",
    "Finishing",
    "FixedDelay",
    "Footer",
    "FsspecFiles",
    "FunctionContext",
    "GlobalCommitter",
    "GrowingFile",
    "History",
    "HybridEnumerator",
    "HybridSource",
    "HybridState",
    "IllegalStateError",
    "InputStatus",
    "InvalidJobGraphError",
    "Job",
    "JobCancelledError",
    "JobConfig",
    "JobError",
    "JobFailedError",
    "KeyedContext",
    "KeyedProcessFunction",
    "KeyedStream",
    "LastPiece",
    "LostTransactionError",
    "MemoryFiles",
    "NoRestart",
    "Operator",
    "OperatorContext",
    "ParquetEnumerator",
    "ParquetFiles",
    "ParquetReader",
    "ParquetSource",
    "ParquetSplit",
    "PartialFinishingNotSupportedByStateError",
    "ProcessFunction",
    "ReaderContext",
    "ReaderOutput",
    "Reason",
    "RestartStrategy",
    "RestoreError",
    "RowKind",
    "RowsEnumerator",
    "RowsReader",
    "RowsSource",
    "RowsSplit",
    "RuntimeMode",
    "SavepointError",
    "Serializer",
    "SessionWindows",
    "Sink",
    "SinkContext",
    "SinkWriter",
    "SlidingWindows",
    "Source",
    "SourceReader",
    "Split",
    "SplitEnumerator",
    "SplitEnumeratorContext",
    "SplitQueue",
    "StopWithSavepointStoppingError",
    "StreamEnvironment",
    "StuckSubtaskError",
    "Table",
    "Triggering",
    "TumblingWindows",
    "TwoPhaseCommitSink",
    "TwoPhaseFileSink",
    "UserFunctionError",
    "WatermarkStrategy",
    "WindowedStream",
    "committed_rows",
    "count",
    "end_rules",
    "execute",
    "highest",
    "mean",
    "merged",
    "no_pause",
    "run",
    "run_batch",
    "splits_of",
    "total",
]

# Where the names of `__all__` are, the cheapest module to import first.
_HOMES = (
    "errors",
    "batch",
    "files",
    "time.watermarks",
    "operators.functions",
    "operators.operator",
    "operators.windows",
    "source.sources",
    "source.collections",
    "source.parquet",
    "source.hybrid",
    "sink.sinks",
    "sink.file_sink",
    "graph.stream",
    "checkpoint.history",
    "checkpoint.coordinator",
    "master.config",
    "master.restart",
    "master.job",
    "master.batch_mode",
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    for module in (import_module(f"{__name__}.{home}") for home in _HOMES):
        if hasattr(module, name):
            return getattr(module, name)
    raise AssertionError(f"{name} is in none of {_HOMES}")


def __dir__() -> list[str]:
    return sorted(__all__)
