"""Read events between two stream cuts, segment by segment, predecessors before successors.

Streams, reader groups, connectors and simulations import this folder. It imports connections and framing.
"""
