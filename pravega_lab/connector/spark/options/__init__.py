"""The options of ``format("pravega")``: what is declared, how they are parsed, and the checked result.

`declared.OPTIONS` declares every option once. Everything else follows from it: `parse_options`, its errors
and ``docs/options.md``. Only `connector.spark` and the documentation import this package.
"""

from pravega_lab.connector.rows.typed_rows import DROP, FAIL, KEEP
from pravega_lab.connector.spark.options.checked import (
    EARLIEST,
    LATEST,
    UNBOUNDED,
    Cluster,
    PravegaOptions,
)
from pravega_lab.connector.spark.options.declared import OPTION_NAMES, OPTIONS
from pravega_lab.connector.spark.options.option import Option
from pravega_lab.connector.spark.options.parsing import CATALOG_TABLE, COMMAND, parse_options

__all__ = [
    "CATALOG_TABLE",
    "COMMAND",
    "DROP",
    "EARLIEST",
    "FAIL",
    "KEEP",
    "LATEST",
    "OPTIONS",
    "OPTION_NAMES",
    "UNBOUNDED",
    "Cluster",
    "Option",
    "PravegaOptions",
    "parse_options",
]
