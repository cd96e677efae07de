"""Access control of the server: credentials of calls, tokens of requests, certificates, and their files.

`engine.store.security` decides; this folder reads files, hashes passwords in a thread and asks. The rest of
the server imports it.
"""
