"""Pravega's protocols as values and bytes: no input or output, no clock, no gRPC.

The folders are ``wire`` (commands and frames of the segment store), ``controller`` (messages and calls), and
``metadata`` (what Pravega keeps in streams). Here are names and key space (``names``, ``hashing``), stream
cuts (``stream_cut``), and Java's encodings (``java_text``, ``serializer``).

Import what you need from these modules. This package imports none of them, so importing it costs nothing.
Everything above may import it; of the project it imports only the errors.
"""
