"""Security at the network: credentials of calls, tokens of requests, certificates, and the files behind them.

`engine.store.security` decides; this folder reads files, hashes passwords in a thread and asks.
"""
