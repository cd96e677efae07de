"""The simulation: the code of store, client, groups and jobs under virtual time, with faults and checkers.

The simulation of the connectors, the fixtures, the lab and the tutorials import its folders. It is above
everything that it simulates; nothing in `engine` imports it.
"""
