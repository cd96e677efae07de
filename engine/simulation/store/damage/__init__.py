"""The scenario ``damage``: files of a store that are changed behind its back, and bugs planted against it.

`scenarios`, in the folder above, imports this folder.
"""
