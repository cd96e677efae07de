"""Pravega streams in Spark 4.3: batch and streaming source, exactly-once sink, session builder.

Nothing of Spark, gRPC or the client is imported with this package: Spark's worker daemon imports it before
it forks, and a look-up of data sources imports it in every session (reference/spark.md 11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .driver import Driver, submit
    from .registration import register
    from .session import create_session

__all__ = ["FORMAT", "Driver", "create_session", "register", "submit"]

#: What ``spark.read.format(...)`` is called with.
FORMAT = "pravega"

_HOMES = {"Driver": "driver", "submit": "driver", "register": "registration", "create_session": "session"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
