"""Simulated worlds around the store: applications, faults, checkers and planted bugs.

The simulations of groups, jobs and connectors import this folder. It imports the kernel, the server and the
client.
"""
