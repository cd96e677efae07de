"""`PravegaConfig`: the store that a connector uses, and the scope of names without one.

Every subtask has a copy of the job's sources and sinks. They therefore carry this configuration instead of a
client, and create the client where they run. An argument overrides a property, a property overrides an
environment variable, and the variable overrides the default. Source: flink-connectors' ``PravegaConfig``
(flink.md 13.3).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.connection.access import AccessOptions
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
    """The address of a store and how to connect to it. Copies of its holder share one object.

    ``connect`` takes the name of the caller and returns a client, and ``clock_ms`` returns milliseconds since
    1970. They replace the network and the clock of this machine, for example in a simulation.
    """

    uri: str = DEFAULT_URI
    default_scope: str | None = None
    access: AccessOptions | None = None
    connect: Callable[[str], AsyncClient] | None = None
    clock_ms: Callable[[], int] = wall_clock_ms

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> PravegaConfig:
        """Return the configuration of ``PRAVEGA_CONTROLLER_URI`` and ``PRAVEGA_SCOPE``.

        Without these variables it is ``tcp://localhost:9090`` and no default scope.
        """
        found = os.environ if environ is None else environ
        return cls(found.get(URI_VARIABLE, DEFAULT_URI), found.get(SCOPE_VARIABLE))

    @classmethod
    def from_arguments(
        cls,
        arguments: Sequence[str],
        properties: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> PravegaConfig:
        """Return the configuration of a program's arguments ``--controller URI`` and ``--scope NAME``.

        Missing ones are taken from the properties ``pravega.controller.uri`` and ``pravega.scope`` (of a
        Spark session, for example), then from `from_environment`. Other arguments are ignored.

        Raises:
            BadInputError: One of the two arguments has no value.
        """
        found, given = cls.from_environment(environ), properties or {}
        uri = _argument(arguments, "--controller") or given.get(URI_PROPERTY) or found.uri
        return cls(uri, _argument(arguments, "--scope") or given.get(SCOPE_PROPERTY) or found.default_scope)

    def resolve(self, name: str) -> str:
        """Return ``scope/name``, with the default scope if ``name`` has none.

        Raises:
            IllegalStateError: ``name`` has no scope, and there is no default scope.
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
        """Return a new client, which the caller closes. Makes no request."""
        if self.connect is not None:
            return self.connect(who)
        return AsyncClient(self.uri, **(self.access or {}))

    def group(self, client: AsyncClient, scoped_name: str) -> AsyncReaderGroup:
        """Return a handle of a reader group that uses this clock. Makes no request."""
        return async_reader_group(client, scoped_name, self.clock_ms)

    def __deepcopy__(self, memo: dict[int, Any]) -> PravegaConfig:
        return self


def _argument(arguments: Sequence[str], name: str) -> str | None:
    """Return the value of the last argument ``--name value`` or ``--name=value``."""
    found = None
    for at, argument in enumerate(arguments):
        if argument == name:
            if at + 1 == len(arguments) or arguments[at + 1].startswith("--"):
                raise BadInputError(f"{name} has no value: write {name} VALUE")
            found = arguments[at + 1]
        elif argument.startswith(f"{name}="):
            found = argument.partition("=")[2]
    return found
