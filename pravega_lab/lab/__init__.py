"""`Lab` and its parts: panel, health, controls, running readers and writers, forks and stepping.

Notebooks, the demo and the tutorials import this folder. It may import every package below it. Inside,
`Lab` is on top: its parts say in a `Protocol` what they need of a lab.
"""
