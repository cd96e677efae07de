"""Pravega's protocols as values and bytes; no input or output, no clock, no gRPC.

Wire commands (``commands``, ``codec``, ``frames``), the controller's messages (``controller_pb2``,
``controller_methods``), names and key space (``names``, ``hashing``), stream cuts (``stream_cut``) and
the state log of reader groups (``reader_group``). Import what you need from these modules: this package
imports none of them, so that it costs nothing.
"""
