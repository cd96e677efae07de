"""Static pictures without a browser: SVG text, PNG rectangles and the palette.

Every picture imports this folder; of the project it imports only `portable`.
"""
