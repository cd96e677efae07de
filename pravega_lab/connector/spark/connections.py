"""Clients of this process, by cluster: opened when first needed, never before a fork, never pickled.

Spark pickles sources, readers and writers several times per query and reuses its worker processes for many
tasks (reference/spark.md 11), so connections live here and not on them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...client import Client, Stream
    from .options import Cluster

_clients: dict[tuple[int, Cluster], Client] = {}


def client_of(cluster: Cluster) -> Client:
    """The client of ``cluster`` in this process."""
    key = (os.getpid(), cluster)
    found = _clients.get(key)
    if found is None:
        from ...client import connect

        found = _clients[key] = connect(cluster.controller, **cluster.access())
    return found


def stream_of(cluster: Cluster, scoped_stream: str) -> Stream:
    """A handle of one stream; asks nothing."""
    return client_of(cluster).stream(scoped_stream)


def close_all() -> None:
    """Close what this process opened; the next use opens anew."""
    for key in [key for key in _clients if key[0] == os.getpid()]:
        _clients.pop(key).close()
