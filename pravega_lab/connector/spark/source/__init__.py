"""The reading side of the Spark source: offsets, partitions, limits and rows.

`connector.spark.data_source` imports this folder. This folder imports the client and the connector's options.
"""
