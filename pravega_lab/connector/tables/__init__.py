"""Tables: streams whose events are rows, described by columns and a format.

A description is kept in the store, in a table segment of the scope, so that Spark's catalog, the engine and
pandas read the same table. This package imports the client, the engine's connector and the formats of rows,
and nothing of Spark. The Spark connector, the lab and user programs import it.
"""
