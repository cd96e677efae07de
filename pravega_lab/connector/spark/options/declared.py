"""Every option of ``format("pravega")``, declared once: names, type, default, meaning, and how it is parsed.

Names and defaults are those of the official Spark connector where it has the option. Options that Flink's
table connector has too are accepted under Flink's name as well, with Flink's notation: durations such as
``10 s``, and lists with ``;``. Options of Flink that have no meaning in Spark are checked and have no effect.

One default differs from the official connector: the source does not create a missing stream unless an option
says so, because a misspelt name would otherwise read as an empty stream.

Source: flink.md 11.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from pravega_lab.connector.spark.options.address_options import ADDRESS_OPTIONS
from pravega_lab.connector.spark.options.option import Option
from pravega_lab.connector.spark.options.sink_options import SINK_OPTIONS
from pravega_lab.connector.spark.options.source_options import SOURCE_OPTIONS

OPTIONS: tuple[Option, ...] = (*ADDRESS_OPTIONS, *SOURCE_OPTIONS, *SINK_OPTIONS)
OPTION_NAMES = tuple(option.name for option in OPTIONS)
#: Every option by each of its names.
BY_NAME: Mapping[str, Option] = {
    name: option for option in OPTIONS for name in (option.name, option.flink) if name
}
