"""The project as a whole: rules of the code, packages, releases, installation, Binder and benchmarks."""
