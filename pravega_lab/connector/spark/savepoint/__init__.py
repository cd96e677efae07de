"""Stopping a streaming query between two batches, and copying its checkpoint.

The lab imports this folder. This folder imports `connector.spark.session` and the arithmetic of offsets.
"""
