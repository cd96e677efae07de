"""What travels between the driver and the workers: frames, values, links and channels.

The driver and the workers import this folder, which imports `engine.flow`.
"""
