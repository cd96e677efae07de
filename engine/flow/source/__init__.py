"""Sources: the enumerator and reader of FLIP-27, the legacy form, master hooks, and what runs them.

Connectors import `sources` and `master_hook`; the builder, the tasks and the job master import the rest.
"""
