"""Change rows: the envelopes of Debezium, Canal and Maxwell, as rows with a kind.

A row kind is ``+I`` (insert), ``-U`` and ``+U`` (a row before and after its update) or ``-D`` (delete), as in
Flink. `kinds` turns changes into rows, `debezium` and `partial` read the envelopes, and `envelopes` writes
them. `connector.rows`, tables and Spark's sink import this folder.
"""
