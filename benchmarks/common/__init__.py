"""What all benchmarks share: rounds and targets, the stores that are compared, jars of Maven Central."""
