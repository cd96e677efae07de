"""The recorded runs themselves, as data files.

``recordings.recorded`` finds them; no code imports this package, which contains none.
"""
