"""Read events between two stream cuts, segment by segment, predecessors before successors.

Streams, reader groups and connectors import this folder. It imports connections, controller and framing.
"""
