"""Several views on one clock, as a board: below each other, or the views of one of several runs.

`widgets` publishes `show`, and stepping imports `run_board`. This folder is above the views: it imports all
of them and `widgets.live`.
"""
