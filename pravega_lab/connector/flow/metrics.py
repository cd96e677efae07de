"""(g) The metrics of the connector while a job runs, under the names that Flink shows.

They cost the data path nothing: readers' metrics come from the reader group, and writers' from plain
counters. Source: flink-connectors' metrics (``PravegaReader.readerGroup``, ``PravegaWriter``), FLIP-33.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.protocol.names import split_scoped_name
from pravega_lab.protocol.stream_cut import StreamCut

READER = "PravegaReader.readerGroup"
WRITER = "PravegaWriter"
Value = int | str


@dataclass
class Counters:
    """The counters of a sink: events that it passed to the client, and events that the client refused."""

    stream: str
    num_records_out: int = 0
    num_records_out_errors: int = 0

    def metrics(self) -> dict[str, Value]:
        """Return the metrics, value by name."""
        return {
            f"{WRITER}.stream": self.stream,
            "numRecordsOut": self.num_records_out,
            "numRecordsOutErrors": self.num_records_out_errors,
        }


async def reader_metrics(group: AsyncReaderGroup) -> dict[str, Value]:
    """Return the metrics of a reader group: unread bytes since its last checkpoint, online readers,
    positions.

    Raises:
        ReaderGroupNotFoundError: There is no such group.
    """
    state = await group.state()
    cuts = await group.stream_cuts()
    return {
        f"{READER}.unreadBytes": await group.unread_bytes(),
        f"{READER}.readerGroupName": group.name,
        f"{READER}.scope": group.scope,
        f"{READER}.onlineReaders": ",".join(state.readers),
        f"{READER}.streams": ",".join(state.streams()),
        **_positions(cuts),
    }


def _positions(cuts: Mapping[str, StreamCut]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for stream, cut in cuts.items():
        scope, name = split_scoped_name(stream)
        at = ", ".join(f"{segment}={offset}" for segment, offset in sorted(cut.positions.items()))
        found[f"{READER}.stream.{scope}_{name}.segmentPositions"] = at
    return found
