"""Event time: watermarks and timers.

Operators, sources and tasks import this folder, which imports state and elements.
"""
