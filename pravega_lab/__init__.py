"""A laboratory for streaming storage: watch it live, break it on purpose, rewind it, prove the result.

``Lab`` starts or joins a store and provides streams, Spark and views. ``connect`` returns the client alone.
``observe`` follows what other programs do. Names are looked up when they are first used, so that importing
the package takes little time and needs neither Spark nor Jupyter. User programs and notebooks import it; no
package below it does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pravega_lab.client import Credentials, RetentionPolicy, ScalingPolicy, connect
    from pravega_lab.connector.tables.table import Table
    from pravega_lab.lab.lab import Lab
    from pravega_lab.observe import observe
    from pravega_lab.protocol.stream_cut import StreamCut
    from pravega_lab.terminal import admin


def _version() -> str:
    try:
        return str(import_module("pravega_lab._version").__version__)  # the build writes it, from a tag
    except ModuleNotFoundError:
        return "0.1.0.dev0"


__version__ = _version()
__all__ = [
    "Credentials",
    "Lab",
    "RetentionPolicy",
    "ScalingPolicy",
    "StreamCut",
    "Table",
    "__version__",
    "admin",
    "connect",
    "observe",
    "register",
]

_HOMES = {
    "Credentials": "pravega_lab.client",
    "Lab": "pravega_lab.lab.lab",
    "RetentionPolicy": "pravega_lab.client",
    "ScalingPolicy": "pravega_lab.client",
    "StreamCut": "pravega_lab.protocol.stream_cut",
    "Table": "pravega_lab.connector.tables.table",
    "connect": "pravega_lab.client",
}


def register(spark: Any) -> None:
    """Make ``format("pravega")`` known to a Spark session that cannot discover it by itself.

    That is necessary where the workers' Python cannot import ``pyspark_pravega`` as a plain package, for
    example with some editable installs, and where the environment is not activated: in a session on this
    machine the workers run the Python of this process from then on, unless the user chose another one.
    Calling it twice is harmless.

    Raises:
        SetupError: The session's Spark, or the installed pyspark, is older than 4.3, or the Python that the
            user chose for the workers cannot run the data source.
    """
    from pravega_lab.connector.spark import register as register_source

    register_source(spark)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "observe":  # the function, as in `from pravega_lab import observe`, not its package
        return import_module("pravega_lab.observe").observe
    if name == "admin":  # a package of functions: what the command `pravega-lab admin` does
        return import_module("pravega_lab.terminal.admin")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'pravega_lab' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
