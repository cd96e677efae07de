"""The source: cuts, offsets, reading ahead, filters; most of it without Spark."""
