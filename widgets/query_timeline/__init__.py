"""The query timeline: view, and static picture.

`widgets` publishes it; it imports the fold of batches, `widgets.live` and `widgets.svg`.
"""
