"""The `sparkrig` command: one file a verb."""
