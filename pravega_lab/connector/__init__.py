"""Connectors of Pravega streams: to Spark, to the dataflow engine, and to tables that both share.

The lab, the terminal, the fixtures and the tutorials import these packages; they import the client and the
engine.
"""
