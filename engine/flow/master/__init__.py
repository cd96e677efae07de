"""The job master: it deploys subtasks, carries out what the coordinator decides, and recovers.

User programs import `job`; the cluster and the simulation import the rest.
"""
