"""The exactly-once sink: its steps, its decisions, and drivers that are killed."""
