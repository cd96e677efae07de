"""The empty simulated world: loop, network, disk, processes and journal.

Every other folder of the simulation imports this one. This folder imports only contracts of what it stands
in for: the disk and the errors of `engine.store`, and the link of the client's controller.
"""
