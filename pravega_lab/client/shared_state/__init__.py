"""Provide revisioned streams and state synchronizers: one segment as a log that several programs agree on.

Reader groups and user programs import this folder. It imports connections.
"""
