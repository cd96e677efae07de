"""Options of the formats of typed rows, of source and sink."""

from __future__ import annotations

from pravega_lab.connector.rows.protobuf.descriptors import descriptor, descriptor_file
from pravega_lab.connector.spark.options.option import SINK, SOURCE, Option
from pravega_lab.connector.spark.options.values import boolean, not_empty, one_of, text

FORMAT_OPTIONS: tuple[Option, ...] = (
    Option(
        "avro_schema",
        SOURCE,
        "JSON",
        "",
        "Format `avro`: the schema of the events, also in a sink. By default that of the columns.",
        text,
    ),
    Option(
        "avro_reader_schema",
        SOURCE,
        "JSON",
        "",
        "Format `avro`: a later schema, whose aliases and defaults apply.",
        text,
    ),
    Option(
        "registry_uri",
        SOURCE,
        "address",
        "",
        "Format `pravega-registry`: `http://host:port` of the schema registry, also in a sink.",
        text,
        flink="pravega-registry.uri",
    ),
    Option(
        "registry_namespace",
        SOURCE,
        "text",
        "",
        "Format `pravega-registry`: the namespace of the group. By default the scope of the stream.",
        text,
        flink="pravega-registry.namespace",
    ),
    Option(
        "registry_group",
        SOURCE,
        "text",
        "",
        "Format `pravega-registry`: the group. By default the name of the stream.",
        text,
        flink="pravega-registry.group-id",
    ),
    Option(
        "registry_format",
        SINK,
        "avro or json",
        "avro",
        "Format `pravega-registry`: the format of a schema that the sink adds. It adds none of Protobuf.",
        one_of("avro", "json", "protobuf"),
        flink="pravega-registry.format",
    ),
    Option(
        "registry_codec",
        SINK,
        "none, gzip or snappy",
        "none",
        "Format `pravega-registry`: what compresses each event.",
        one_of("none", "gzip", "snappy"),
    ),
    Option(
        "registry_register",
        SINK,
        "true or false",
        "false",
        "Format `pravega-registry`: the sink adds the group, a schema of the columns, and the codec.",
        boolean,
    ),
    Option(
        "protobuf_descriptor_file",
        SOURCE,
        "path",
        "",
        "Format `protobuf`: a file with a `FileDescriptorSet`, on the driver.",
        not_empty(descriptor_file),
        field="protobuf_descriptor",
    ),
    Option(
        "protobuf_descriptor",
        SOURCE,
        "base64",
        "",
        "Format `protobuf`: the bytes of a `FileDescriptorSet`, in place of the file.",
        not_empty(descriptor),
    ),
    Option(
        "protobuf_message",
        SOURCE,
        "text",
        "",
        "Format `protobuf`: the message of an event, `package.Message`.",
        text,
    ),
)
