"""`PravegaConfig`: which store a connector talks to, and the scope of names that have none.

A job's sources and sinks are copied to subtasks, so they carry this and no client: whoever needs one makes
it where it runs. Precedence: argument, property, environment variable, default. Source: flink-connectors'
``PravegaConfig`` (reference/flink.md, 13.3).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pravega_lab.client.access import AccessOptions
from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.opening import async_reader_group, wall_clock_ms
from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.errors import BadInputError

DEFAULT_URI = "tcp://localhost:9090"
URI_VARIABLE = "PRAVEGA_CONTROLLER_URI"
SCOPE_VARIABLE = "PRAVEGA_SCOPE"
URI_PROPERTY = "pravega.controller.uri"
SCOPE_PROPERTY = "pravega.scope"


@dataclass(frozen=True)
class PravegaConfig:
    """Where the store is. Shared by all copies of what holds it.

    ``connect`` takes the name of who asks and gives a client, ``clock_ms`` gives milliseconds since 1970: for
    homes where links and time are not those of this machine.
    """

    uri: str = DEFAULT_URI
    default_scope: str | None = None
    access: AccessOptions | None = None
    connect: Callable[[str], AsyncClient] | None = None
    clock_ms: Callable[[], int] = wall_clock_ms

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> PravegaConfig:
        """``PRAVEGA_CONTROLLER_URI`` and ``PRAVEGA_SCOPE``; ``tcp://localhost:9090`` and no scope without
        them."""
        found = os.environ if environ is None else environ
        return cls(found.get(URI_VARIABLE, DEFAULT_URI), found.get(SCOPE_VARIABLE))

    @classmethod
    def from_arguments(
        cls,
        arguments: Sequence[str],
        properties: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> PravegaConfig:
        """``--controller URI`` and ``--scope NAME`` among a program's arguments, else properties
        ``pravega.controller.uri`` and ``pravega.scope`` (of a Spark session, say), else `from_environment`.
        Other arguments are the program's own.

        Raises:
            BadInputError: one of the two stands there without a value.
        """
        found, given = cls.from_environment(environ), properties or {}
        uri = _argument(arguments, "--controller") or given.get(URI_PROPERTY) or found.uri
        return cls(uri, _argument(arguments, "--scope") or given.get(SCOPE_PROPERTY) or found.default_scope)

    def resolve(self, name: str) -> str:
        """``scope/name``.

        Raises:
            IllegalStateError: no scope is in the name, and there is no default.
        """
        if "/" in name:
            return name
        if self.default_scope is None:
            raise IllegalStateError(
                f"{name!r} names no scope and there is no default: write scope/{name}, or set "
                f"PravegaConfig(default_scope=...)"
            )
        return f"{self.default_scope}/{name}"

    def client(self, who: str) -> AsyncClient:
        """A client of its own; the caller closes it. Asks nothing."""
        if self.connect is not None:
            return self.connect(who)
        return AsyncClient(self.uri, **(self.access or {}))

    def group(self, client: AsyncClient, scoped_name: str) -> AsyncReaderGroup:
        """A handle of a reader group, with this clock. Asks nothing."""
        return async_reader_group(client, scoped_name, self.clock_ms)

    def __deepcopy__(self, memo: dict[int, Any]) -> PravegaConfig:
        return self


def _argument(arguments: Sequence[str], name: str) -> str | None:
    """The last one counts, written ``--name value`` or ``--name=value``."""
    found = None
    for at, argument in enumerate(arguments):
        if argument == name:
            if at + 1 == len(arguments) or arguments[at + 1].startswith("--"):
                raise BadInputError(f"{name} stands without a value: write {name} VALUE")
            found = arguments[at + 1]
        elif argument.startswith(f"{name}="):
            found = argument.partition("=")[2]
    return found
