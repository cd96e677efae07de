"""What Pravega keeps in streams, in Java's encoding: reader-group state, positions and watermarks.

The client, the store and the observers import this folder; it imports the serializer, names and stream cuts.
"""
