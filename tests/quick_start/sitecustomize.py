"""Lets Spark's daemons import the connector once, before they fork, and not after each fork.

Python imports this module at its start where ``PYTHONPATH`` names this folder, as in the targets of the
Makefile that run pytest. A query of Spark starts about five processes from such daemons, and each would take
0.14 s for the import.
"""

import sys

if "pyspark.daemon" in sys.orig_argv:
    import pyspark_pravega  # noqa: F401 - for the processes that are forked
