"""Single views in a browser: as exported pages and in JupyterLab."""
