"""How a failing run explains itself: the smallest run that still fails, its story, and its turning point.

Everything here decides and runs nothing by itself: the callers run plans, in one process or in several. The
command line and the page in the browser use this folder. Of the simulation it imports `kernel` only.
"""
