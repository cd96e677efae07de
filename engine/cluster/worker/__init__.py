"""A worker process: it hosts subtasks, and connects to the other workers.

`cluster.spark` and `cluster.processes` start it. It imports `cluster.wire`, and `placement`
and `graphs` of `cluster.driver`.
"""
