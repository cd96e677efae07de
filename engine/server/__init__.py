"""The store's network front: Pravega's wire commands and the controller's gRPC, around the synchronous store."""
