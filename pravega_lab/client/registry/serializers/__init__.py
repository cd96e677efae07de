"""Values as events, and events as values: formats, codecs, and the header with the encoding id."""
