"""Whole pages from files or a plain file server: exports, the simulation, the documentation."""
