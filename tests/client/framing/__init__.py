"""Events to bytes and back, compiled and in plain Python. They need no store."""
