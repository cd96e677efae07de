"""The clients of this process, one per cluster: opened on first use, never before a fork, never pickled.

Spark pickles sources, readers and writers several times per query, and it reuses a worker process for many
tasks (spark.md 11). Connections therefore belong to the process and not to these objects.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pravega_lab.client import Client, Stream
    from pravega_lab.connector.spark.options import Cluster

_clients: dict[tuple[int, Cluster], Client] = {}


def client_of(cluster: Cluster) -> Client:
    """Return the client of ``cluster`` in this process; connect on first use."""
    key = (os.getpid(), cluster)
    found = _clients.get(key)
    if found is None:
        from pravega_lab.client import connect

        found = _clients[key] = connect(cluster.controller, **cluster.access())
    return found


def stream_of(cluster: Cluster, scoped_stream: str) -> Stream:
    """Return a handle of one stream without a request to the store."""
    return client_of(cluster).stream(scoped_stream)


def close_all() -> None:
    """Close the clients that this process opened. The next use connects again."""
    for key in [key for key in _clients if key[0] == os.getpid()]:
        _clients.pop(key).close()
