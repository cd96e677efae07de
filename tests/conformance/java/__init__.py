"""The official Java client, in programs of ours: by itself, and in one group with readers of Python."""
