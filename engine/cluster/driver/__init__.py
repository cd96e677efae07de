"""The driver's side of a job in several processes: placement, epochs of workers, and deployments.

`cluster.spark` and `cluster.processes` import this folder, and the worker imports its `placement` and
`graphs`: what the driver sends. It imports `cluster.wire`.
"""
