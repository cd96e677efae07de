"""Connect to segment stores: TLS, credentials, tokens, and requests with their replies.

Every other folder of the client may import this one. It imports the protocol only.
"""
