"""The admin port of a store: ``/metrics`` for Prometheus, ``/health`` for programs that restart or route.

``samples`` and ``health`` read what the store counts anyway, when they are asked. ``admin_port`` serves them.
Only `exposition` imports prometheus_client. This folder imports `engine.store` and the rest of the server.
"""
