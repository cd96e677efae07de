"""The driver's side of a job in several processes: placement, epochs of workers, and deployments.

`cluster.spark`, `cluster.processes` and `cluster.worker` import this folder, which imports `cluster.wire`.
"""
