"""The scenario ``tokens``: a store that demands delegation tokens, which expire after seconds.

The scenarios and checkers of the folder above import this folder.
"""
