"""What a released Debezium writes about a table of PostgreSQL, recorded for `pravega_lab.datasets`."""
