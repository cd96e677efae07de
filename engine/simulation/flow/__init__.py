"""Simulated jobs of the engine: random programs, faults, checkers, stepping, and planted bugs.

The lab, the tutorials and the connectors' simulation import this folder. It imports the simulation's kernel,
the results of the store's simulation, and the engine.
"""
