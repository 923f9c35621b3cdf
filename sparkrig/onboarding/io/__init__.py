"""The first login, keys, and the search for a new Spark."""
