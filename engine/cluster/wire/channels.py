"""The two ends of a channel whose producer and consumer run in different workers.

The consumer's end grants credit for the records that were taken from it, and the producer's end waits while
it has no credit. The bound is the same as that of a channel within a process, and includes records in
transit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...flow.batch import Batch
from ...flow.elements import (
    Barrier,
    CancelMarker,
    Element,
    EndOfData,
    EndOfPartition,
    Watermark,
    WatermarkStatus,
)
from ...flow.task.channels import Channel
from ..errors import FrameError
from . import values
from .frames import Frame, Kind, RecordsReader, RecordsWriter, encode

Send = Callable[[bytes], None]
_BETWEEN = (Watermark, WatermarkStatus, Barrier, CancelMarker, EndOfData, EndOfPartition)


class OutgoingEnd(Channel):
    """Send the elements of a channel. This is the producer's end.

    ``number`` identifies the channel within ``deployment``.
    """

    def __init__(self, *args: Any, deployment: int, number: int, send: Send) -> None:
        super().__init__(*args)
        self._send, self._deployment, self._number = send, deployment, number
        self._records = RecordsWriter(deployment, number)

    def put(self, element: Element) -> None:
        """Send an element. The caller has checked that there is room."""
        if isinstance(element, Batch):
            self._held += element.num_rows
            self._latest = element.num_rows
            self._send(self._records.encode(element))
        else:
            body, channel = values.to_bytes(element), self._number
            self._send(encode(Kind.ELEMENT, body, deployment=self._deployment, channel=channel))

    def receive(self, frame: Frame) -> None:
        """Take a message of the consumer's end: credit, or the acknowledgement of all data."""
        if frame.kind is Kind.CREDIT:
            self._held -= frame.rows
            self.on_room()
        elif frame.kind is Kind.DONE:
            self._acknowledged()
        else:
            raise FrameError(f"{frame.kind.name} on {self.lane}, against its direction")


class IncomingEnd(Channel):
    """Receive the elements of a channel. This is the consumer's end."""

    def __init__(self, *args: Any, deployment: int, number: int, send: Send) -> None:
        super().__init__(*args)
        self._send, self._deployment, self._number = send, deployment, number
        self._records = RecordsReader()
        self._taken = 0

    def receive(self, frame: Frame) -> None:
        """Take a message of the producer's end: records or another element."""
        if frame.kind is Kind.RECORDS:
            batch = self._records.decode(frame)
            self._held += batch.num_rows
            self._arrive(batch)
        elif frame.kind is Kind.ELEMENT:
            element = values.from_bytes(frame.body)
            if not isinstance(element, _BETWEEN):
                raise FrameError(f"{type(element).__name__} on {self.lane}, which is no element of a channel")
            self._arrive(element)
        else:
            raise FrameError(f"{frame.kind.name} on {self.lane}, against its direction")

    def take(self) -> Element:
        """Return the next element, and grant credit for its records."""
        element = self._queue.popleft()
        if isinstance(element, Batch):
            self._held -= element.num_rows
            self._taken += element.num_rows
        # Credit for half of the bound, or for all that is here, keeps the producer as busy.
        if self._taken and (2 * self._taken >= self.capacity or self._held == 0):
            self._say(Kind.CREDIT, self._taken)
            self._taken = 0
        return element

    def acknowledge_data(self) -> None:
        """Notify the producer that all records and the end of the data were processed."""
        self._say(Kind.DONE)

    def _say(self, kind: Kind, rows: int = 0) -> None:
        self._send(encode(kind, deployment=self._deployment, channel=self._number, rows=rows))
