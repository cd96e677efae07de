"""The scenario ``retention``: its applications, the rules that hold in it, and bugs planted against them.

The scenarios and checkers of the folder above import this folder.
"""
