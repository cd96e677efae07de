"""Simulated reader groups: members, scenarios, checkers, a second model, and planted bugs.

The command line and the tests import this folder. It imports the simulation of the store.
"""
