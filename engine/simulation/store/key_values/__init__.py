"""The scenario ``key-values``: several users of one key-value table, and bugs planted against it.

The scenarios and checkers of the folder above import this folder.
"""
