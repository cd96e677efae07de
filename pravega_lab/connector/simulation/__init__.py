"""The simulation of the connectors: a job that copies a stream while job, stream and store fail.

The command line and the tutorials import this folder. It imports `connector.flow` and `engine.simulation`.
"""
