"""What all live views share: base view, publisher, clock, controls, board and export.

The folders of the views import this one; it imports journals only.
"""
