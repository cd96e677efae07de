"""The checkpoint timeline: view, rows of groups and jobs, and static picture.

`widgets` publishes it; it imports `widgets.groups`, `widgets.live` and `widgets.svg`.
"""
