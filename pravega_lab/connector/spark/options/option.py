"""What the declaration of an option consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pravega_lab.connector.spark.options.values import Parser

#: Where an option belongs on the page of options.
ADDRESS, ACCESS, SOURCE, SINK, CREATION = "Address", "Access", "Reading", "Writing", "Creating streams"
GROUPS = (ADDRESS, ACCESS, SOURCE, SINK, CREATION)
SECRET = (
    ", because plans and logs would show it. Write it to a file on every machine and name the file with "
    "option 'credentials_file', or set pravega_client_auth_method and its companions in the environment of "
    "driver and executors"
)
#: Names of secrets. No option has such a name.
SECRET_NAMES = ("credentials", "username", "user", "password", "token")


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes:
        name: The name in Spark, or Flink's name if Spark has no name of its own for it.
        group: Where it belongs.
        type: What its value is, in words.
        default: Its default, as a user would write it. Empty if there is none.
        meaning: One or two sentences.
        parse: Turns the text into a value, and raises `BadInputError`.
        flink: Its name in Flink's table connector, or empty.
        flink_type: What the value is under Flink's name, if its notation differs.
        flink_parse: The parser of that notation.
        field: The field of `PravegaOptions`; by default the name. Empty if the option has no effect.
        official: Whether the official Spark connector has it under this name.
    """

    name: str
    group: str
    type: str
    default: str
    meaning: str
    parse: Parser
    flink: str = ""
    flink_type: str = ""
    flink_parse: Parser | None = None
    field: str | None = None
    official: bool = False

    @property
    def is_spark(self) -> bool:
        """Whether the name is one of Spark. Otherwise it is Flink's, and Spark has no other name for it."""
        return self.name != self.flink or self.official or self.name == "format"

    @property
    def sets(self) -> str:
        """Return the field of `PravegaOptions` that the option sets, or an empty text."""
        return self.name if self.field is None else self.field

    def value(self, name: str, given: str) -> Any:
        """Return the value of the text ``given`` under ``name``, which is Spark's name or Flink's."""
        parse = self.flink_parse if name == self.flink and self.flink_parse else self.parse
        return parse(name, given)
