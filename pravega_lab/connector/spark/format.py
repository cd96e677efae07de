"""The name of the data source, in a module without imports."""

from __future__ import annotations

#: The argument of ``spark.read.format(...)`` that selects this data source.
FORMAT = "pravega"
