"""Recorded runs for the tutorials: the recorder, the scripts of what happens, and the command.

The notebooks import `recordings`; the folder imports the simulation and the observers.
"""
