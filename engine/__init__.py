"""What runs underneath: the embedded store and its server, the schema registry, the dataflow engine, its
cluster, and the simulation of all of them.

The connectors, the lab, the terminal, the fixtures and the tutorials import these packages. Only
`engine.simulation` imports the client.
"""
