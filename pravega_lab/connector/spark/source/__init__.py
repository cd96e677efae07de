"""The reading side of the Spark source: offsets, partitions, limits, holds and rows.

`connector.spark.data_source`, sessions and savepoints import this folder. This folder imports the client and
the connector's options.
"""
