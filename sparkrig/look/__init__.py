"""What one look saw of a host: every resource of it, in one value."""
