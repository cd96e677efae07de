"""The job of `benchmarks.flow`: on our engine, and on a released Flink."""
