"""Call the controller with typed arguments, over a replaceable link.

The folders of the client that write, read and keep groups import this one. It imports `client.connection`.
"""
