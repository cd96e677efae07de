"""The main job: real events in, a stream that splits and merges, Spark out, proven exactly once.

``replay`` paces the flights, ``pipeline`` is the Spark driver script, ``verdict`` compares what came out
with the table it came from, ``command`` puts them together. The quickstart notebook uses the same parts.
"""
