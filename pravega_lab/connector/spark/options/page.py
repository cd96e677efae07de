"""The page of options, made from their declarations: ``python -m pravega_lab.connector.spark.options.page``
prints it.
"""

from __future__ import annotations

from pravega_lab.connector.spark.options.declared import OPTIONS
from pravega_lab.connector.spark.options.old_keys import SAME_KEYS
from pravega_lab.connector.spark.options.option import GROUPS, Option
from pravega_lab.connector.spark.options.parsing import FALLBACKS

_OPENING = """# Options

After reading this page you know every option of `format("pravega")`, with its type, its default and its
name in Flink's table connector. The page is made from the declarations in
`pravega_lab/connector/spark/options`.

```python
rows = spark.read.format("pravega").options(**{"controller-uri": uri, "scope": "demo", "scan.streams": "a;b"})
```

- **Names.** An option has the name of the official Spark connector if that has it (●), and Flink's name
  works as well. Names are not case-sensitive. One option under both names is refused. [spark.md](spark.md)
  explains what the options do.
- **Notation.** Under Flink's name, a duration is written as `500 ms`, `10 s`, `5 min`, `1 h` or `1 d`, and
  a list with `;`. Flink's name of an option that differs in notation has a line of its own.
- **A missing address.** An option wins over a property of the Spark session, and the property wins over an
  environment variable: {fallbacks}. A property may also be written as `spark.pravega.…`, and
  `register(spark)` passes it to the workers.
- **Secrets** are no options, because plans and logs show options: [cluster.md](cluster.md).
- **In Spark, no option names a reader group.** The position of a query is in its checkpoint, as stream
  cuts. The options of Flink's reader group are checked and have no effect.
- **Defaults differ from Flink's** in two places: a sink writes exactly once, and a reader begins at the
  tail in a streaming query.
"""
_OLD = """
## The long keys of Flink 1.10

An old key is refused, and the error names the new one. Intervals were milliseconds and are durations now.

| old key | new key |
|---|---|
"""


def page() -> str:
    """Return the Markdown of the page."""
    fallbacks = ",\n  ".join(f"`{field}` is `{key}` or `{variable}`" for field, key, variable in FALLBACKS)
    parts = [_OPENING.replace("{fallbacks}", fallbacks)]
    for group in GROUPS:
        parts.append(
            f"\n## {group}\n\n| option | Flink's name | type | default | meaning |\n|---|---|---|---|---|\n"
        )
        parts += [_rows(option) for option in OPTIONS if option.group == group]
    parts.append(_OLD + "".join(f"| `{old}` | `{new}` |\n" for old, new in SAME_KEYS.items()))
    return "".join(parts)


def _rows(option: Option) -> str:
    name = "" if option.name == option.flink and not option.is_spark else f"`{option.name}`"
    default = f"`{option.default}`" if option.default and " " not in option.default else option.default
    default = "required" if option.default == "required" else default
    flink = f"`{option.flink}`" if option.flink else ""
    shared = "" if option.flink_type else flink
    mark = " ●" if option.official else ""
    row = f"| {name}{mark} | {shared} | {option.type} | {default} | {option.meaning} |\n"
    if option.flink_type:
        row += f"| | {flink} | {option.flink_type} | | The same in Flink's notation. |\n"
    return row


if __name__ == "__main__":
    print(page(), end="")
