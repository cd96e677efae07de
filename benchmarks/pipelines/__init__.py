"""What `benchmarks.latency` and `benchmarks.kafka` measure: events that travel from one process to another.

The two ends of a pipeline are child processes (`child`), so that neither slows the other down by Python's
lock. The package imports the lab and, where it is compared, Kafka's Python client.
"""
