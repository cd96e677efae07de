"""Sources: event gates, induced checkpoints, files that a stream follows."""
