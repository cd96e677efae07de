"""Simulated reader groups: members, scenarios, checkers, a second model, and planted bugs.

The simulation of the connectors, the page in the browser and the tests import this folder. It imports the
simulation of the store, and the client.
"""
