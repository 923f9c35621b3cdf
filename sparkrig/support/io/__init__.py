"""What a support archive collects of a host."""
