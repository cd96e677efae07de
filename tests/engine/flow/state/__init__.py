"""Keyed state as user functions see it."""
