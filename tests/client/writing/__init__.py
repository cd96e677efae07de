"""Writers of events: acknowledgements, broken connections, full stores, transactions."""
