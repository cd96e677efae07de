"""Frames written by hand, on both stores. Other folders import `connection`."""
