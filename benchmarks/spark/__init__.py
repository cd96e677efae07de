"""Where the time of Spark's batches goes, and the sources and sinks that it is compared with."""
