"""Provide table segments: keys with versions, and conditional updates.

The client and the Spark sink import this folder. It imports connections and controller.
"""
