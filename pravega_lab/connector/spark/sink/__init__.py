"""The exactly-once sink: the writer of a task, the register of batches, and the steps of a commit.

`connector.spark.data_source` imports this folder. This folder imports the client and the connector's options.
"""
