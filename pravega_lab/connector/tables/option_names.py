"""The names of the options that a description of a table may have.

They are those of ``format("pravega")``, whose declarations are in the package of Spark. Tables do not import
that package, so the names are repeated here. `tests/connector/spark/test_options.py` compares both lists.
"""

from __future__ import annotations

import difflib

from pravega_lab.errors import BadInputError

#: Spark's and Flink's names, sorted.
OPTION_NAMES = [
    "allow_create_scope",
    "allow_create_stream",
    "approx_bytes_per_trigger",
    "avro_reader_schema",
    "avro_schema",
    "ca_file",
    "columns",
    "connector",
    "controller",
    "controller-uri",
    "corrupt_rows",
    "credentials_file",
    "default_num_segments",
    "default_retention_duration_milliseconds",
    "default_retention_size_bytes",
    "default_scale_factor",
    "default_segment_target_rate_bytes_per_sec",
    "default_segment_target_rate_events_per_sec",
    "end_stream_cut",
    "exactly_once",
    "fail_on_data_loss",
    "field_columns",
    "format",
    "metadata",
    "ordered",
    "plain_credentials",
    "pravega-registry.format",
    "pravega-registry.group-id",
    "pravega-registry.namespace",
    "pravega-registry.uri",
    "prefetch_bytes",
    "primary_key",
    "protobuf_descriptor",
    "protobuf_descriptor_file",
    "protobuf_message",
    "read_after_write_consistency",
    "registry_codec",
    "registry_format",
    "registry_group",
    "registry_namespace",
    "registry_register",
    "registry_uri",
    "rewrite",
    "routing_key",
    "routing_key_column",
    "scan.end-streamcuts",
    "scan.event-read.timeout.interval",
    "scan.execution.type",
    "scan.reader-group.checkpoint-initiate-timeout.interval",
    "scan.reader-group.max-outstanding-checkpoint-request",
    "scan.reader-group.name",
    "scan.reader-group.refresh.interval",
    "scan.start-streamcuts",
    "scan.streams",
    "scan.uid",
    "scope",
    "security.auth-token",
    "security.auth-type",
    "security.trust-store",
    "security.validate-hostname",
    "sink.enable.watermark-propagation",
    "sink.routing-key.field.name",
    "sink.semantic",
    "sink.stream",
    "sink.txn-lease-renewal.interval",
    "sink_id",
    "start_stream_cut",
    "stream",
    "transaction_status_poll_interval_ms",
    "transaction_timeout_ms",
    "validate_host_name",
]


def check_option(name: str) -> None:
    """Refuse an option that the connector does not have. Capital and small letters are the same.

    Raises:
        BadInputError: The message suggests the nearest name.
    """
    if name.lower() not in OPTION_NAMES:
        near = difflib.get_close_matches(name.lower(), OPTION_NAMES, n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'?" if near else "docs/options.md lists the options"
        raise BadInputError(f"option '{name}' of a table is not known. {hint}")
