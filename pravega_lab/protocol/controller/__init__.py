"""The controller's messages, generated from ``controller.proto``, and the table of its calls.

The client and the store's controller import this folder; it imports nothing of the project.
"""
