"""The catalog ``pravega`` of Spark: ``SELECT … FROM pravega.scope.stream`` without a CREATE TABLE.

`PravegaCatalog.java` is all that runs in the JVM. It decides nothing: it sends every operation as a command
to the Python data source, and `commands` answers. `jar` compiles it with the compiler that Spark contains.

Sessions import `jar`, in the driver. The data source imports `commands`, in Spark's Python workers.
"""
