"""Rows in events that a schema registry describes: each event names its schema by an encoding id.

`lookup` asks the registry, `schemas` relates schemas to columns, `decoders` and `encoders` do the work for
one encoding id, and `registry_rows` is the format ``pravega-registry``. Source: schema-registry.md A3.

`connector.rows`, tables and the Spark connector import this folder, which imports `client.registry`.
"""
