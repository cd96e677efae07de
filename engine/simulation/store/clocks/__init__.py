"""The scenario ``clocks``: a wall clock that jumps under a running store, and leases that must not notice.

The scenarios and checkers of the folder above import this folder.
"""
