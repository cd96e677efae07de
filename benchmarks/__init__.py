"""Measured comparisons, each a command: ``python -m benchmarks.wheel``. Results: docs/performance.md."""
