"""Commands for a terminal: ``watch`` shows a cluster or a reader group, ``doctor`` checks this machine, and
``admin`` keeps the data folder of a store.

The command line imports this folder. It imports `observe` and the client. `doctor` also imports the
Spark connector, and `terminal.admin` the store.
"""
