"""The master of a job: its states, its effects, and what restarts after a failure."""
