"""The network front of the store: wire commands, the controller over gRPC, and the process around both.

`StoreProcess` runs an embedded store in a process of its own, and `Limits` says what its clients may take.
The lab, the fixtures, the terminal and the simulation import this folder; it imports `engine.store`,
`engine.registry` and the protocol. Inside, each module and folder imports only earlier ones of this list:
limits, security, tiers, segment_store, handlers, the commands (appends, reads, segments, tables), dispatch,
connection, runner, grpc, registry, monitoring, standalone. The other modules are helpers of one of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pravega_lab.portable.lazy import lazy_names

if TYPE_CHECKING:
    from .limits.limits import Limits
    from .store_process import StoreProcess

__all__ = ["Limits", "StoreProcess"]

_HOMES = {"Limits": "limits.limits", "StoreProcess": "store_process"}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
