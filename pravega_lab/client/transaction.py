"""Being written."""

from typing import Any


class AsyncTransaction:
    def __init__(self, *args: Any) -> None:
        raise NotImplementedError


async def begin(*args: Any) -> AsyncTransaction:
    raise NotImplementedError
