"""The exercises, one module per tutorial.

`tutorials.learning.book` finds the modules by itself; nothing else imports them.
"""
