"""Static pictures without a browser: SVG text, PNG rectangles and the palette.

Every picture imports this folder; it imports nothing of the project but its errors.
"""
