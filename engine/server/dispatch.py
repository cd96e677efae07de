"""The table of all wire commands that the segment store handles.

It is above the modules of the handlers and below the connection, which looks its commands up here.
"""

from __future__ import annotations

from pravega_lab.protocol.wire import commands as c

from . import appends, reads, segments, tables
from .handlers import Connection, Handlers

VERSION_HIGH, VERSION_LOW = 16, 5
"""Versions that a released 0.13.0 announces. Higher ones would invite commands that it does not know.

Source: pravega.md D1.
"""


def hello(connection: Connection, command: c.Hello) -> None:
    """Answer Hello with the versions of this server, and close if the client shares none of them.

    Source: pravega.md D1.
    """
    ours = c.Hello(VERSION_HIGH, VERSION_LOW)
    if command.low <= VERSION_HIGH and command.high >= VERSION_LOW:
        connection.send(ours)
    else:
        connection.close(f"its versions {command.low} to {command.high} are not ours", last_words=ours)


def keep_alive(connection: Connection, command: c.KeepAlive) -> None:
    """Answer KeepAlive with KeepAlive."""
    connection.send(command)


HANDLERS: Handlers = {
    c.Hello: hello,
    c.KeepAlive: keep_alive,
    **appends.HANDLERS,
    **reads.HANDLERS,
    **segments.HANDLERS,
    **tables.HANDLERS,
}
