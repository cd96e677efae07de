"""Being written."""

from typing import Any


class AsyncOrderedSegmentReader:
    def __init__(self, *args: Any) -> None:
        raise NotImplementedError
