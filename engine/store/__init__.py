"""The embedded Pravega without its network: storage (segments, tables, log) and controller.

Storage: :mod:`~pravega_lab.engine.store.operations` is what can be done,
:mod:`~pravega_lab.engine.store.storage` does it, :mod:`~pravega_lab.engine.store.disk` keeps it, and
:func:`pravega_lab.engine.store.recovery.open_storage` opens what was kept.
"""
