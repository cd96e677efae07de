"""A dataflow engine that is right about checkpoints, recovery and finishing, and lets a person watch them.

Jobs are built with `stream.StreamEnvironment` and run by `job.Job`, on an ordinary asyncio loop or, the same
code, under the virtual-time loop of the simulation. docs/engine.md has the map. Importing this package
starts nothing and imports nothing.
"""
