"""Avro by itself: schemas, their normal form, which of them can read which, and single values as bytes.

The schema registry decides with it, and its client writes and reads events one at a time. Spark's rows are
decoded a batch at a time by `pravega_lab.connector.rows` instead. Source: schema-registry.md B1 to B3.
This folder imports only the errors.
"""
