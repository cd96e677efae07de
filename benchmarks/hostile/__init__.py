"""The processes of ``benchmarks.attacks``: a store, a well-behaved client, and the attacks on them."""
