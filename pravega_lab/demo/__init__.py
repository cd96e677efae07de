"""The main job: real events in, a stream that splits and merges, Spark out, proven exactly once.

``replay`` paces the flights, ``pipeline`` is the Spark driver script, ``verdict`` compares the result with
the table that the flights came from, and ``command`` runs all of them. The quickstart notebook uses the
same parts.
"""
