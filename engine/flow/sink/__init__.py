"""Sinks: two-phase commit, writers and committers, and a sink into files.

Connectors import `sinks`; the builder imports the operators around them.
"""
