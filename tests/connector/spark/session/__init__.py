"""Sessions: how Spark finds the connector, its Java and Python, and Spark Connect."""
