"""How a client gets into a cluster: addresses, credentials, TLS. `tls_proxy` speaks TLS before a store."""
