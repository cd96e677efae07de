"""Frames and commands of Pravega's segment store, as values and as bytes.

The client and the store's server import this folder; it imports only the errors and Java's text encoding.
"""
