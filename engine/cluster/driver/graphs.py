"""A job graph as bytes for workers, by cloudpickle: functions of a notebook travel by value.

Enumerators, hooks and observers stay in the driver.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from typing import Any

from pravega_lab.errors import BadInputError

from ...flow.graph.graph import OperatorNode
from ...flow.graph.stream import StreamEnvironment
from ...flow.observer import NoObserver
from .placement import JobSpec


def coordinator_in_driver(_context: Any) -> Any:
    """Represent a coordinator in a worker, which asks only whether there is one."""
    raise AssertionError("a coordinator runs in the driver")


def packed(spec: JobSpec) -> bytes:
    """Return the encoded specification of a job.

    Raises:
        BadInputError: something in the graph cannot be pickled, or cloudpickle is not installed.
    """
    buffer = io.BytesIO()
    pickler = _pickler()(buffer, protocol=5)
    try:
        pickler.dump(spec)
    except Exception as error:  # an object that refuses to be pickled raises what it likes
        raise BadInputError(
            f"job {spec.graph.name!r} cannot be sent to its workers: {error}; functions and sources may hold "
            "plain values and open their connections, locks and files where they run (in open)"
        ) from error
    return buffer.getvalue()


def unpacked(data: bytes) -> JobSpec:
    """Return what was passed to `packed`.

    The bytes came from the process that started this one, not over a socket.
    """
    spec: JobSpec = pickle.loads(data)
    return spec


def _pickler() -> Any:
    try:
        from pyspark.cloudpickle import Pickler
    except ImportError:
        try:
            from cloudpickle import Pickler
        except ImportError:
            raise BadInputError(
                "jobs are sent to other processes by cloudpickle, which is not installed: "
                "pip install 'pravega-lab[spark]'"
            ) from None

    class GraphPickler(Pickler):  # type: ignore[misc, unused-ignore]
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, OperatorNode):
                return copyreg.__newobj__, (OperatorNode,), _node_state(value)  # type: ignore[attr-defined]
            if isinstance(value, StreamEnvironment):
                state = {**vars(value), "_observer": NoObserver(), "nodes": []}
                return copyreg.__newobj__, (StreamEnvironment,), state  # type: ignore[attr-defined]
            return super().reducer_override(value)

    return GraphPickler


def _node_state(node: OperatorNode) -> dict[str, Any]:
    coordinator = None if node.make_coordinator is None else coordinator_in_driver
    return {**vars(node), "make_coordinator": coordinator, "make_hook": None, "check_restored": None}
