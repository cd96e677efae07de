"""Play: the scenarios of the page on which the simulation runs in a browser, and the same at home.

A run is a value (`spec`), a table describes what may be chosen (`catalogue`), the folder `worlds` runs it,
and `messages` answers the page. The folder may import the tutorials' recorders, the views and the simulation,
and runs with the standard library and protobuf alone. The TypeScript of the page is in ``page``.
"""
