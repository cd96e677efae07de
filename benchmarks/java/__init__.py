"""The released Java client for `benchmarks.per_event`."""
