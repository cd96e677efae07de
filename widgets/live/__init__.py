"""What all live views share: base view, publisher, clock, controls and export.

The folders of the views and `widgets.boards` import this one; it imports journals, bundles and `widgets.svg`.
"""
