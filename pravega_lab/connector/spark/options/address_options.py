"""Options that say where streams are, and how to get access to them."""

from __future__ import annotations

from pravega_lab.connector.spark.options import address_values as parsers
from pravega_lab.connector.spark.options.checked import (
    DEFAULT_CONTROLLER,
)
from pravega_lab.connector.spark.options.option import ACCESS, ADDRESS, SECRET, Option
from pravega_lab.connector.spark.options.values import (
    boolean,
    refuse,
    text,
)

ADDRESS_OPTIONS: tuple[Option, ...] = (
    Option(
        "connector",
        ADDRESS,
        "`pravega`",
        "",
        "The name of the connector.",
        parsers.connector,
        flink="connector",
        field="",
    ),
    Option(
        "controller",
        ADDRESS,
        "address",
        DEFAULT_CONTROLLER,
        "The address of a controller.",
        parsers.controller,
        flink="controller-uri",
        official=True,
    ),
    Option(
        "scope",
        ADDRESS,
        "text",
        "required",
        "The scope of the streams.",
        parsers.scope,
        flink="scope",
        official=True,
    ),
    Option(
        "stream",
        ADDRESS,
        "list with `,` or `;`",
        "required",
        "The streams to read, or the stream to write.",
        parsers.streams,
        flink="scan.streams",
        flink_type="list with `;`, also scope/stream",
        flink_parse=parsers.flink_streams,
        field="streams",
        official=True,
    ),
    Option(
        "sink.stream",
        ADDRESS,
        "text",
        "",
        "The stream to write, where `scan.streams` names those to read.",
        parsers.scoped,
        flink="sink.stream",
        field="sink_stream",
    ),
    Option(
        "ca_file",
        ACCESS,
        "path",
        "",
        "Certificates of the authority, PEM.",
        text,
        flink="security.trust-store",
    ),
    Option(
        "credentials_file", ACCESS, "path", "", "A file with method and token, or user and password.", text
    ),
    Option(
        "validate_host_name",
        ACCESS,
        "boolean",
        "true",
        "`false` accepts every host name in a certificate.",
        boolean,
        flink="security.validate-hostname",
    ),
    Option(
        "rewrite",
        ACCESS,
        "host=host,…",
        "",
        "Where to connect in place of an advertised host.",
        parsers.rewrite,
    ),
    Option("plain_credentials", ACCESS, "boolean", "false", "Send credentials over `tcp://` too.", boolean),
    Option(
        "security.auth-type",
        ACCESS,
        "text",
        "",
        "Refused: it belongs into the credentials file.",
        refuse(SECRET.replace(", because plans and logs would show it", " by itself")),
        flink="security.auth-type",
        field="",
    ),
    Option(
        "security.auth-token",
        ACCESS,
        "text",
        "",
        "Refused: plans and logs would show it.",
        refuse(SECRET),
        flink="security.auth-token",
        field="",
    ),
)
