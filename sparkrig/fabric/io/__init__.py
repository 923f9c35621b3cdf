"""What is asked of the hosts of a fabric together."""
