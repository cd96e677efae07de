"""The empty simulated world: loop, network, disk, processes and journal.

Every other folder of the simulation imports this one. This folder imports only the disk's contract of
`engine.store`.
"""
