"""What a handler of a command is: called with connection and command, it replies through the connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pravega_lab.protocol.commands import Command

Handlers = dict[type[Command], Callable[[Any, Any], None]]
