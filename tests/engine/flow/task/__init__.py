"""Subtasks: their turns, batches, watermarks, and how they end."""
