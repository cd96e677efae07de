"""Recorded runs for the tutorials: the recorder, the scripts of what happens, and the command.

The notebooks import `recordings`; the folder imports the client, the fixtures and the observers.
"""
