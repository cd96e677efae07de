"""Spark sessions on this machine: Java, registration of the format, worker processes and drivers.

The lab and user programs import this folder. This folder imports the data source.
"""
