"""Who may do what: users and their permissions, the rules of the calls, and delegation tokens.

Everything here decides. Time, keys and the text of files are arguments. It imports the protocol and
`store.metadata` only.
"""
