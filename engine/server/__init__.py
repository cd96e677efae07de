"""The store's network front: wire commands and gRPC around the synchronous store."""
