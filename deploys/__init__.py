"""What should be, in the order of a person's runbook."""
