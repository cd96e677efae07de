"""What each serialization format demands of a schema, and when two schemas are the same."""
