"""The engine over several processes: the master in the driver, subtasks in workers, sockets between them.

It is a part of its own beside `engine.flow`, because that decides and must not know of sockets, processes or
Spark; it uses nothing but `engine.flow`. `spark.SparkJob` has its workers started by a barrier job of Spark,
`processes.ProcessJob` as plain processes of this machine; all else is the same. pyspark is imported when a
`SparkJob` is made, not before.
"""
