"""Avro's binary encoding and Arrow columns: whole batches, without a Python object per row.

`schema` reads a schema, `arrow_types` relates its types to Arrow's, `program` compiles a schema and wanted
columns into a few instructions, `kernels` runs them over all events of a batch, `flat` and `flat_kernels` do
so column after column where nothing is nested, and `decode` and `encode` are what other packages call. Schema
resolution follows the Avro 1.12 specification.

`connector.rows` and its registry format import this folder, which imports `protocol.avro`.
"""
