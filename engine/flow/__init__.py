"""A dataflow engine that is right about checkpoints, recovery and finishing, and that can be watched.

Jobs are built with `graph.stream.StreamEnvironment` and run by `master.job.Job`. The same code runs on an
ordinary asyncio loop and under the virtual time of the simulation. Importing this package imports and starts
nothing. docs/engine.md describes its folders.

The folders have an order, and imports lead only downwards: the modules beside the folders (`errors`, `batch`,
`elements`, `files` and so on) are lowest, then come state, time, operators, source, sink, graph, checkpoint,
task and master. tests/project/test_tidy.py checks the order. User programs, the cluster, connectors and the
simulation import it.
"""
