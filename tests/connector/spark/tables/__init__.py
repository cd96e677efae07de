"""Typed rows, SQL, the catalog and the registry in Spark, and the page about them."""
