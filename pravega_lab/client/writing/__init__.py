"""Write events to a stream: routes, appends in flight, acknowledgements and transactions.

Streams and the synchronous client import this folder. `client` states the order of all folders.
"""
