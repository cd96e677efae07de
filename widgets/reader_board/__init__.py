"""The reader board: view and static picture.

`widgets` publishes it; it imports `widgets.groups`, `widgets.live` and `widgets.svg`.
"""
