"""Stand-ins on plain lists for the parts of numpy, pyarrow and pandas that the lab uses.

`portable.columns` and `portable.frames` import them where the packages are not installed, and the tests
compare both. They import nothing of the project.
"""
