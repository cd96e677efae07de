"""Lets the Python processes of the tests start and run with less work.

Python imports this module at its start where ``PYTHONPATH`` names this folder, as in the targets of the
Makefile that run pytest. Spark's daemons import the connector once, before they fork: a query of Spark starts
about five processes from them, and each would take 0.14 s for the import. And the garbage collector, which
otherwise visits the many modules of a test again and again, looks less often. That is 5 % of the tests' time.
"""

import gc
import sys

gc.set_threshold(20_000, 20, 50)
if "pyspark.daemon" in sys.orig_argv:
    import pyspark_pravega  # noqa: F401 - for the processes that are forked
