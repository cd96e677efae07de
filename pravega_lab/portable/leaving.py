"""`at_exit`: like ``atexit.register``, for this process alone."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any, ParamSpec

P = ParamSpec("P")


def at_exit(call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call ``call`` when this process ends. A forked child does not: it would undo what its parent made."""
    atexit.register(_in_process, os.getpid(), call, args, kwargs)


def _in_process(
    process_id: int, call: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    if os.getpid() == process_id:
        call(*args, **kwargs)
