"""Being written."""

from typing import Any


class AsyncBatches:
    def __init__(self, *args: Any) -> None:
        raise NotImplementedError
