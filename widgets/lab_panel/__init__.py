"""The page's half of the panel that a notebook shows for a `Lab`: TypeScript only.

`pravega_lab.lab.panel` sends the parts and loads the bundle. No Python code imports this folder.
"""
