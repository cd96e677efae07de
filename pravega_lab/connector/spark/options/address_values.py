"""How the text of the options of Pravega becomes a value: addresses, streams, cuts, formats."""

from __future__ import annotations

from pravega_lab.connector.rows.formats import check_format
from pravega_lab.connector.spark.options.checked import EARLIEST, LATEST, UNBOUNDED
from pravega_lab.connector.spark.options.values import boolean, listed, supported, text, without_repetition
from pravega_lab.connector.tables.columns import parse_columns
from pravega_lab.errors import BadInputError


def scope(name: str, given: str) -> str:
    if "/" in given:
        scope, stream = given.split("/", 1)
        raise BadInputError(f"option 'scope' is '{given}'. Write scope='{scope}' and stream='{stream}'")
    return given


def streams(name: str, given: str) -> tuple[str, ...]:
    names = listed(given, ",;")
    for stream in names:
        if "/" in stream:
            raise BadInputError(
                f"option 'stream' has '{stream}'. Name it without its scope, which is option 'scope'"
            )
    return without_repetition(name, names)


def flink_streams(name: str, given: str) -> tuple[str, ...]:
    return without_repetition(name, [scoped(name, stream) for stream in listed(given, ";")])


def scoped(name: str, given: str) -> str:
    if not given or given.count("/") > 1 or given.startswith("/") or given.endswith("/"):
        raise BadInputError(f"option '{name}' has '{given}'. Write stream, or scope/stream")
    return given


def controller(name: str, given: str) -> str:
    if not given.startswith(("tcp://", "tls://")):
        raise BadInputError(f"option '{name}' is '{given}'. Write tcp://host:9090, or tls:// with TLS")
    return given


def rewrite(name: str, given: str) -> tuple[tuple[str, str], ...]:
    from pravega_lab.client.connection.access import rewrites_from

    return tuple(sorted(rewrites_from(given).items()))


def cut(name: str, given: str) -> str:
    lower = text(name, given).lower()
    return lower if lower in (EARLIEST, LATEST, UNBOUNDED) else given


def flink_cuts(name: str, given: str) -> tuple[str, ...]:
    """Return one cut for each stream. Parsing the options compares their number with that of the streams."""
    return tuple(cut(name, part) for part in listed(text(name, given), ";"))


def columns(name: str, given: str) -> tuple[str, ...]:
    """Return the names of columns, which commas separate.

    Raises:
        BadInputError: There is no name, or one twice.
    """
    found = tuple(part.strip() for part in given.split(",") if part.strip())
    if not found or len(set(found)) < len(found):
        raise BadInputError(f"option '{name}' is '{given}'; it is one or several columns, each once")
    return found


def typed_columns(name: str, given: str) -> str:
    parse_columns(text(name, given))
    return given


def format_name(name: str, given: str) -> str:
    return check_format(text(name, given))


def connector(name: str, given: str) -> str:
    if given != "pravega":
        raise BadInputError(f"option 'connector' is '{given}', and this connector is 'pravega'")
    return given


def semantic(name: str, given: str) -> bool:
    return bool(supported("at-least-once", "exactly-once", "best-effort")(name, given) == "exactly-once")


def watermark(name: str, given: str) -> None:
    if boolean(name, given):
        raise BadInputError(
            f"option '{name}' is true, and Spark does not pass its watermark to a sink. Leave the option out"
        )
