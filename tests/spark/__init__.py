"""Spark for tests: JVMs that start quickly, sessions, a cluster of processes, a server of Spark Connect."""
