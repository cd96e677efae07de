"""The Spark connector: `create_session`, and the data source ``format("pravega")`` for Spark 4.3.

The data source reads streams in batch and streaming queries and writes them exactly once.

Importing this package imports nothing of Spark, gRPC or the client. Spark's worker daemon imports it before
it forks, and Spark's search for data sources imports it in every session (spark.md 11). The lab, the terminal
and user programs import it; it imports tables, rows and the client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pravega_lab.connector.spark.format import FORMAT
from pravega_lab.portable.lazy import lazy_names

if TYPE_CHECKING:
    from pravega_lab.connector.spark.session.driver import Driver, submit
    from pravega_lab.connector.spark.session.progress import write_progress
    from pravega_lab.connector.spark.session.registration import register
    from pravega_lab.connector.spark.session.session import create_session

__all__ = ["FORMAT", "Driver", "create_session", "register", "submit", "write_progress"]

_HOMES = {
    "Driver": "session.driver",
    "submit": "session.driver",
    "register": "session.registration",
    "create_session": "session.session",
    "write_progress": "session.progress",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
