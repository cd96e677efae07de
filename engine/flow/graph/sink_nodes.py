"""The operators that a `Sink` becomes in a program: a writer, a committer and a global committer."""

from __future__ import annotations

from ..sink.committers import (
    COMMITTABLES,
    WRITER_STATE,
    CommitterOperator,
    GlobalCommitterOperator,
    SinkWriterOperator,
)
from ..sink.sinks import Sink
from .graph import Exchange, NodeEdge, OperatorNode


def sink_nodes(
    sink: Sink, inputs: list[NodeEdge], name: str, uid: str | None, parallelism: int | None
) -> list[OperatorNode]:
    """Return the operators of a sink, the writer first.

    The committer and the global committer exist if the sink creates them. Their ids are derived from ``uid``.
    """
    writer = OperatorNode(
        f"{name}: writer",
        lambda: SinkWriterOperator(sink),
        parallelism,
        uid,
        inputs=inputs,
        state=WRITER_STATE,
    )
    nodes = [writer]
    if type(sink).create_committer is not Sink.create_committer:
        nodes.append(
            OperatorNode(
                f"{name}: committer",
                lambda: CommitterOperator(sink),
                parallelism,
                None if uid is None else f"{uid}-committer",
                inputs=[NodeEdge(writer, 0, Exchange.FORWARD)],
                state=COMMITTABLES,
            )
        )
    if type(sink).create_global_committer is not Sink.create_global_committer:
        nodes.append(
            OperatorNode(
                f"{name}: global committer",
                lambda: GlobalCommitterOperator(sink),
                1,
                None if uid is None else f"{uid}-global-committer",
                inputs=[NodeEdge(writer, 0, Exchange.GLOBAL)],
                state=COMMITTABLES,
            )
        )
    return nodes
