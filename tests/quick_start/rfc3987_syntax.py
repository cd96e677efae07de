"""Stands in the way of a package that jsonschema imports where it can, to check international addresses.

It compiles 38 grammars, which takes a second of each process that reads or writes a notebook.
"""

raise ImportError("the tests do without it: see tests/quick_start")
