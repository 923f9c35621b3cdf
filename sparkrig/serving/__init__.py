"""What can be served on one Spark or a pair, and with what settings."""
