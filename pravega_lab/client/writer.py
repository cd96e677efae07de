"""Being written."""

from typing import Any


class AsyncEventWriter:
    def __init__(self, *args: Any) -> None:
        raise NotImplementedError
