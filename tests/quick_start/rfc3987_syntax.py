"""Keeps jsonschema from importing the real package of this name, which no test needs.

jsonschema does without it if the import fails. The real one compiles 38 grammars, which takes a second of
each process that reads or writes a notebook.
"""

raise ImportError("the tests do without it: see tests/quick_start")
