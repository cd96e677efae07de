"""What keeps the tutorials right: their form, nbval with shared kernels, and the table of results."""
