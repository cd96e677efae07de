"""Values as events, and events as values: formats, codecs, and the header with the encoding id.

`client.registry` publishes this folder, and the rows of the connector import it. It imports the protocol.
"""
