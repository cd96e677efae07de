"""Operators: what an operator is, user functions, windows, and the operators that the builder creates.

Sources, sinks, the builder and the tasks import this folder, which imports state and time.
"""
