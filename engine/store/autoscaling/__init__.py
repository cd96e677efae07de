"""Auto-scaling: the rates of segments, what each segment asks for, and what the controller decides.

The controller imports this folder; it imports `streams`, `metadata` and `log`.
"""
