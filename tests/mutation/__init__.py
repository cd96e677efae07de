"""The mutation meter: do the fast tests and the simulation notice when a core decides otherwise?

``make mutants`` changes one small thing of a core at a time and runs the tests that reach it.
"""
