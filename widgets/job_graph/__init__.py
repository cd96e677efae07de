"""The job graph: view, and static picture.

`widgets` publishes it; it imports the fold of jobs, `widgets.live` and `widgets.svg`.
"""
