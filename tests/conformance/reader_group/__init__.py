"""Reader groups of this client and their observers, on both stores. Other folders import `readers`."""
