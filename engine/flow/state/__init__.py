"""State of operators: key groups, keyed and list state, stored state, rescaling, and values as bytes.

Everything in the engine above batches, elements and errors may import this folder, which imports only those.
"""
