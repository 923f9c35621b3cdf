"""The card of a new Spark."""
