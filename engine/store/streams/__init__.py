"""The controller's calls on scopes, streams, segments and reader groups, and the watermarks of streams.

Retention, autoscaling and the controller import this folder; it imports `transactions`, `metadata` and `log`.
"""
