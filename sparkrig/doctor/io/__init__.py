"""The doctor's look at each host."""
