"""The segment map: view, rows, static picture, plotly figures, and the fold with owners.

`widgets` publishes it; it imports journals, `widgets.live` and `widgets.svg`.
"""
