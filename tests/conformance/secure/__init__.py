"""TLS and authentication: a real Pravega and an embedded store that have both, and what clients get."""
