"""Where storage meets processing: connectors of Pravega streams to engines."""
