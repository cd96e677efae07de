"""Provide key-value tables as the controller knows them: their configurations and their segments.

The calls of the controller and of scopes import this folder. It imports metadata and log.
"""
