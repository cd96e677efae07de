"""The engine in several processes: the master in the driver, subtasks in workers, and sockets between them.

`spark.SparkJob` starts its workers by a barrier job of Spark, and `processes.ProcessJob` as plain processes
of this machine. Everything else is the same. This package is separate from `engine.flow`, which decides and
knows nothing of sockets, processes or Spark. It imports only `engine.flow`, and user programs import it.
pyspark is imported when a `SparkJob` is created.
"""
